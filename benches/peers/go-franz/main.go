// franz-go: its producer's batch buffer and request writer, through the shim in shim.go.txt.
//
//	franz-encode CODEC LEVEL FILE REPEAT OUTPUT      LEVEL: a number, or - for the codec's own default
package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type result struct {
	Records int       `json:"records"`
	Bytes   int       `json:"bytes"`
	Seconds []float64 `json:"seconds"`
}

func main() {
	codec, level, path, output := os.Args[1], os.Args[2], os.Args[3], os.Args[5]
	repeat := must(strconv.Atoi(os.Args[4]))
	batches := load(must(os.ReadFile(path)))
	encoder := kgo.NewBatchEncoder(compressor(codec, level))
	write(encoder, batches, output)
	encode(encoder, batches)
	var found result
	for range repeat {
		start := time.Now()
		records, size := encode(encoder, batches)
		found.Seconds = append(found.Seconds, time.Since(start).Seconds())
		found.Records, found.Bytes = records, size
	}
	_ = json.NewEncoder(os.Stdout).Encode(found)
}

// load gives the records of each batch of an uncompressed segment.
func load(data []byte) (batches [][]*kgo.Record) {
	for len(data) > 0 {
		size := 12 + int(binary.BigEndian.Uint32(data[8:]))
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.RecordBatches = data[:size:size]
		found, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "bench"}, &partition, nil, nil)
		if found.Err != nil {
			panic(found.Err)
		}
		batches = append(batches, found.Records)
		data = data[size:]
	}
	return batches
}

func compressor(codec, level string) kgo.Compressor {
	chosen := map[string]kgo.CompressionCodec{
		"none":   kgo.NoCompression(),
		"gzip":   kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(),
		"zstd":   kgo.ZstdCompression(),
	}[codec]
	if level != "-" {
		chosen = chosen.WithLevel(must(strconv.Atoi(level)))
	}
	return must(kgo.DefaultCompressor(chosen))
}

func encode(encoder *kgo.BatchEncoder, batches [][]*kgo.Record) (records, size int) {
	for _, batch := range batches {
		records += len(batch)
		size += len(encoder.Encode(batch))
	}
	return records, size
}

func write(encoder *kgo.BatchEncoder, batches [][]*kgo.Record, path string) {
	var out []byte
	for _, batch := range batches {
		out = append(out, encoder.Encode(batch)...)
	}
	if err := os.WriteFile(path, out, 0o644); err != nil {
		panic(err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
