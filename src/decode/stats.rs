/// What a decode did, counted where it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes taken from the source.
    pub bytes_read: u64,
    /// Entries whose header was parsed.
    pub entries_read: u64,
    /// Entries that were not opened, since nothing of them was wanted.
    pub entries_skipped: u64,
    /// Entries that were decompressed.
    pub entries_decompressed: u64,
    /// Bytes that decompression gave.
    pub bytes_inflated: u64,
    /// Bytes of opened entries that were compared with their checksums; what a search behind damage compares besides is not counted.
    pub bytes_checksummed: u64,
    /// Records given.
    pub records: u64,
    /// Bytes of keys, values and headers that were copied into columns.
    pub bytes_copied: u64,
    /// Keys and values that were decoded as Avro.
    pub avro_values: u64,
    /// The same as JSON.
    pub json_values: u64,
    /// The same as Protobuf.
    pub protobuf_values: u64,
    /// Keys and values that neither name a schema nor are JSON, where their format is detected.
    pub raw_values: u64,
}

impl Stats {
    /// Adds what another decode did.
    pub fn add(&mut self, other: &Self) {
        *self = self.combined(other, |own, other| own + other);
    }

    /// What was done after an earlier reading of the same counters.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.combined(earlier, |own, earlier| own - earlier)
    }

    fn combined(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            bytes_read: of(self.bytes_read, other.bytes_read),
            entries_read: of(self.entries_read, other.entries_read),
            entries_skipped: of(self.entries_skipped, other.entries_skipped),
            entries_decompressed: of(self.entries_decompressed, other.entries_decompressed),
            bytes_inflated: of(self.bytes_inflated, other.bytes_inflated),
            bytes_checksummed: of(self.bytes_checksummed, other.bytes_checksummed),
            records: of(self.records, other.records),
            bytes_copied: of(self.bytes_copied, other.bytes_copied),
            avro_values: of(self.avro_values, other.avro_values),
            json_values: of(self.json_values, other.json_values),
            protobuf_values: of(self.protobuf_values, other.protobuf_values),
            raw_values: of(self.raw_values, other.raw_values),
        }
    }

    /// Names and numbers, in the order above.
    pub fn to_pairs(self) -> [(&'static str, u64); 12] {
        [
            ("bytes_read", self.bytes_read),
            ("entries_read", self.entries_read),
            ("entries_skipped", self.entries_skipped),
            ("entries_decompressed", self.entries_decompressed),
            ("bytes_inflated", self.bytes_inflated),
            ("bytes_checksummed", self.bytes_checksummed),
            ("records", self.records),
            ("bytes_copied", self.bytes_copied),
            ("avro_values", self.avro_values),
            ("json_values", self.json_values),
            ("protobuf_values", self.protobuf_values),
            ("raw_values", self.raw_values),
        ]
    }
}
