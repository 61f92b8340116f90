// IBM/sarama: RecordBatch.decode and MessageBlock.decode, the decoders behind its consumer, through the shim in shim.go.txt.
package main

import (
	"peers/harness"

	"github.com/IBM/sarama"
)

const magicAt = 16

type record struct {
	offset, timestamp int64
	key, value        []byte
	headers           []*sarama.RecordHeader
}

func each(data []byte, f func(r record)) {
	decode := eachOfBatches
	if data[magicAt] < 2 {
		decode = eachOfMessages
	}
	if err := decode(data, f); err != nil {
		panic(err)
	}
}

func eachOfBatches(data []byte, f func(r record)) error {
	return sarama.EachBatch(data, func(b *sarama.RecordBatch) {
		if b.PartialTrailingRecord {
			panic("partial batch")
		}
		for _, r := range b.Records {
			f(record{b.FirstOffset + r.OffsetDelta, b.FirstTimestamp.Add(r.TimestampDelta).UnixMilli(), r.Key, r.Value, r.Headers})
		}
	})
}

// eachOfMessages gives offsets and timestamps as sarama's consumer does.
func eachOfMessages(data []byte, f func(r record)) error {
	return sarama.EachMessageBlock(data, func(block *sarama.MessageBlock) {
		messages := block.Messages()
		var base int64
		if block.Msg.Version >= 1 {
			base = block.Offset - messages[len(messages)-1].Offset
		}
		for _, m := range messages {
			f(record{base + m.Offset, m.Msg.Timestamp.UnixMilli(), m.Msg.Key, m.Msg.Value, nil})
		}
	})
}

func main() {
	harness.Run(func(d []byte) (n, l uint64) {
		each(d, func(r record) {
			n++
			l += uint64(r.offset) + uint64(r.timestamp) + uint64(len(r.key)+len(r.value)+len(r.headers))
		})
		return
	}, func(d []byte) (s uint64) {
		each(d, func(r record) {
			s += uint64(r.offset) + uint64(r.timestamp) + harness.Crc(r.key) + harness.Crc(r.value)
			for _, h := range r.headers {
				s += harness.Crc(h.Key) + harness.Crc(h.Value)
			}
		})
		return
	})
}
