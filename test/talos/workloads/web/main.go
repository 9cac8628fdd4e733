// web answers every request until it is told to stop, then finishes what it
// has begun: a well-behaved service for a Deployment with a disruption budget.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	server := &http.Server{
		Addr:    ":8080",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, os.Getenv("POD")) }),
	}

	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()

	go func() {
		<-stop.Done()

		deadline, done := context.WithTimeout(context.Background(), 10*time.Second)
		defer done()

		server.Shutdown(deadline)
	}()

	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}
