// Go's os/exec starting the tiny program and collecting both of its streams. Usage: peer_go MB TINY
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"time"
)

func spawn(tiny string) float64 {
	var out, err bytes.Buffer
	start := time.Now()
	command := exec.Command(tiny)
	command.Stdout = &out
	command.Stderr = &err
	if command.Run() != nil || out.String() != "ok\n" {
		return -1
	}
	return float64(time.Since(start).Nanoseconds()) / 1e3
}

func main() {
	megabytes, _ := strconv.Atoi(os.Args[1])
	ballast := make([]byte, megabytes<<20)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var name string
		var ms float64
		fmt.Sscan(lines.Text(), &name, &ms)
		end := time.Now().Add(time.Duration(ms * 1e6))
		samples := []float64{}
		for {
			us := spawn(os.Args[2])
			samples = append(samples, us)
			if us < 0 || !time.Now().Before(end) {
				break
			}
		}
		sort.Float64s(samples)
		fmt.Println(samples[len(samples)/2])
	}
	if len(ballast) > 0 && ballast[0] == 2 {
		fmt.Println("never")
	}
}
