// IBM/sarama: RecordBatch.decode, the decoder behind its consumer, through the shim in shim.go.txt.
package main

import (
	"peers/harness"

	"github.com/IBM/sarama"
)

func each(data []byte, f func(offset, timestamp int64, r *sarama.Record)) {
	err := sarama.EachBatch(data, func(b *sarama.RecordBatch) {
		if b.PartialTrailingRecord {
			panic("partial batch")
		}
		for _, r := range b.Records {
			f(b.FirstOffset+r.OffsetDelta, b.FirstTimestamp.Add(r.TimestampDelta).UnixMilli(), r)
		}
	})
	if err != nil {
		panic(err)
	}
}

func main() {
	harness.Run(func(d []byte) (n, l uint64) {
		each(d, func(offset, timestamp int64, r *sarama.Record) {
			n++
			l += uint64(offset) + uint64(timestamp) + uint64(len(r.Key)+len(r.Value)+len(r.Headers))
		})
		return
	}, func(d []byte) (s uint64) {
		each(d, func(offset, timestamp int64, r *sarama.Record) {
			s += uint64(offset) + uint64(timestamp) + harness.Crc(r.Key) + harness.Crc(r.Value)
			for _, h := range r.Headers {
				s += harness.Crc(h.Key) + harness.Crc(h.Value)
			}
		})
		return
	})
}
