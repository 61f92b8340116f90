// Peer answers one line for each line of its standard input, as java/Peer.java does, with clients that are written in Go.
//
//	read IN OUT                     the records of IN by franz-go, as rows, into OUT
//	produce SERVERS TOPIC SPEC      the rows of SPEC to partition 0 by franz-go, each batch apart from the others
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(answer(strings.Split(lines.Text(), "\t")))
	}
}

func answer(words []string) (said string) {
	defer func() {
		if fault := recover(); fault != nil {
			said = oneLine("error panic: ", fault)
		}
	}()
	count, err := carriedOut(words)
	if err != nil {
		return oneLine("error ", err)
	}
	return fmt.Sprint("ok ", count)
}

func carriedOut(words []string) (int, error) {
	switch {
	case words[0] == "read" && len(words) == 3:
		return readFile(words[1], words[2], readFranz)
	case words[0] == "produce" && len(words) == 4:
		return produce(words[1], words[2], words[3])
	}
	return 0, fmt.Errorf("no such command: %q", words)
}

func readFile(in, out string, read func([]byte) ([]row, error)) (int, error) {
	data, err := os.ReadFile(in)
	if err != nil {
		return 0, err
	}
	rows, err := read(data)
	if err != nil {
		return 0, err
	}
	return len(rows), saveRows(out, rows)
}

func oneLine(start string, fault any) string {
	return start + strings.Join(strings.Fields(fmt.Sprint(fault)), " ")
}
