// client PORT reload|once: a pod that uses the Kubernetes API all the time,
// with its projected token and kube-root-ca.crt. With "reload" it reads the CA
// bundle before every request, with "once" at its start only, as many programs
// do. What happened is told on http://:PORT/stats.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"ichor/workloads/incluster"
)

// stats is what a test reads.
type stats struct {
	Mode         string   `json:"mode"`
	Requests     int      `json:"requests"`
	Failures     int      `json:"failures"`
	InARow       int      `json:"failuresInARow"`
	LastError    string   `json:"lastError"`
	StallMs      int64    `json:"longestStallMs"`
	Fingerprints []string `json:"caFingerprints"`
}

func main() {
	if len(os.Args) != 3 || (os.Args[2] != "reload" && os.Args[2] != "once") {
		log.Fatal("usage: client PORT reload|once")
	}

	var (
		mutex sync.Mutex
		now   = stats{Mode: os.Args[2], Fingerprints: []string{}}
	)

	http.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()

		json.NewEncoder(w).Encode(now)
	})

	go func() { log.Fatal(http.ListenAndServe(":"+os.Args[1], nil)) }()

	var (
		bundle []byte
		good   = time.Now()
	)

	for ; ; time.Sleep(200 * time.Millisecond) {
		if bundle == nil || now.Mode == "reload" {
			if read, err := incluster.Bundle(); err == nil {
				bundle = read
			}
		}

		err := ask(bundle)

		mutex.Lock()

		now.Requests++
		now.Fingerprints = incluster.Fingerprints(bundle)
		now.StallMs = max(now.StallMs, time.Since(good).Milliseconds())

		if err != nil {
			now.Failures++
			now.InARow++
			now.LastError = err.Error()
			log.Print(err)
		} else {
			now.InARow = 0
			good = time.Now()
		}

		mutex.Unlock()
	}
}

// ask makes one request that only an authenticated caller may make.
func ask(bundle []byte) error {
	client, err := incluster.Client(bundle)
	if err != nil {
		return err
	}

	response, err := incluster.Get(client, "/version")
	if err != nil {
		return err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}

	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %.200s", response.Status, body)
	}

	return nil
}
