package main

import (
	"encoding/base64"
	"os"
	"strconv"
	"strings"
)

// A row is one record; nil bytes are null.
type row struct {
	offset, timestamp int64
	timestampType     int
	key, value        []byte
	headers           []header
}

type header struct {
	key   string
	value []byte
}

// A spec is what to write: the codec, and the rows of each batch.
type spec struct {
	codec   string
	batches [][]row
}

func loadSpec(path string) (spec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return spec{}, err
	}
	how, rest, _ := strings.Cut(string(text), "\n")
	made := spec{codec: strings.Split(how, "\t")[1]}
	for _, block := range strings.Split(rest, "\n\n") {
		var batch []row
		for _, line := range strings.Split(strings.Trim(block, "\n"), "\n") {
			one, err := parseRow(line)
			if err != nil {
				return spec{}, err
			}
			batch = append(batch, one)
		}
		made.batches = append(made.batches, batch)
	}
	return made, nil
}

func parseRow(line string) (row, error) {
	fields := strings.Split(line, "\t")
	offset, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return row{}, err
	}
	timestamp, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return row{}, err
	}
	one := row{offset: offset, timestamp: timestamp, key: plain(fields[3]), value: plain(fields[4])}
	for _, pair := range strings.Split(fields[5], ",") {
		if key, value, found := strings.Cut(pair, ":"); found {
			one.headers = append(one.headers, header{string(plain(key)), plain(value)})
		}
	}
	return one, nil
}

func saveRows(path string, rows []row) error {
	var lines strings.Builder
	for _, one := range rows {
		var headers []string
		for _, pair := range one.headers {
			headers = append(headers, text([]byte(pair.key))+":"+text(pair.value))
		}
		fields := []string{
			strconv.FormatInt(one.offset, 10), strconv.FormatInt(one.timestamp, 10), strconv.Itoa(one.timestampType),
			text(one.key), text(one.value), strings.Join(headers, ","),
		}
		lines.WriteString(strings.Join(fields, "\t") + "\n")
	}
	return os.WriteFile(path, []byte(lines.String()), 0o644)
}

func text(data []byte) string {
	if data == nil {
		return "~"
	}
	return base64.StdEncoding.EncodeToString(data)
}

func plain(told string) []byte {
	if told == "~" {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(told)
	if err != nil {
		panic(err)
	}
	return data
}
