package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// readFranz hands the entries over as franz-go's consumer gets them: one partition of a fetch response.
func readFranz(data []byte) ([]row, error) {
	response := kmsg.NewFetchResponseTopicPartition()
	response.RecordBatches = data
	options := kgo.ProcessFetchPartitionOpts{Topic: "interop", KeepControlRecords: false}
	found, next := kgo.ProcessFetchPartition(options, &response, kgo.DefaultDecompressor(), nil)
	if found.Err != nil {
		return nil, found.Err
	}
	var rows []row
	for _, record := range found.Records {
		rows = append(rows, rowOf(record))
	}
	if len(rows) > 0 && next <= rows[len(rows)-1].offset {
		return nil, errors.New("the next offset is not after the last record")
	}
	return rows, nil
}

func rowOf(record *kgo.Record) row {
	kind := int(record.Attrs.TimestampType())
	one := row{offset: record.Offset, timestamp: record.Timestamp.UnixMilli(), timestampType: kind, key: record.Key, value: record.Value}
	if kind < 0 {
		one.timestamp = -1
	}
	for _, pair := range record.Headers {
		one.headers = append(one.headers, header{pair.Key, pair.Value})
	}
	return one
}

func produce(servers, topic, path string) (int, error) {
	wanted, err := loadSpec(path)
	if err != nil {
		return 0, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(servers), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(time.Minute),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codecs[wanted.codec]))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	sent := 0
	var failure error
	for _, batch := range wanted.batches {
		for _, one := range batch {
			client.Produce(context.Background(), recordOf(one), func(_ *kgo.Record, err error) { failure = errors.Join(failure, err) })
			sent++
		}
		if err := client.Flush(context.Background()); err != nil {
			return 0, err
		}
	}
	return sent, failure
}

func recordOf(one row) *kgo.Record {
	record := &kgo.Record{Key: one.key, Value: one.value, Timestamp: time.UnixMilli(one.timestamp)}
	for _, pair := range one.headers {
		record.Headers = append(record.Headers, kgo.RecordHeader{Key: pair.key, Value: pair.value})
	}
	return record
}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}
