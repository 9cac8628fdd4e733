// aggregated PORT GROUP reload|once: an aggregated API server that trusts who
// comes from kube-apiserver only: the caller must show a front-proxy client
// certificate of the CA in kube-system/extension-apiserver-authentication. With
// "reload" it reads that ConfigMap every second, with "once" at its start only.
//
// It serves GROUP/v1 with the read-only resource "pings". What happened is told
// on https://:PORT/stats, to anybody.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"log"
	"math/big"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"ichor/workloads/incluster"
)

const configMap = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

// trust is who may come, as the ConfigMap says.
type trust struct {
	bundle []byte
	pool   *x509.CertPool
	names  []string
}

// server also counts, for tests.
type server struct {
	group string
	mode  string

	mutex    sync.Mutex
	trust    trust
	served   int
	refused  int
	lastName string
	lastWhy  string
	loadErr  string
}

func main() {
	if len(os.Args) != 4 || (os.Args[3] != "reload" && os.Args[3] != "once") {
		log.Fatal("usage: aggregated PORT GROUP reload|once")
	}

	s := &server{group: os.Args[2], mode: os.Args[3]}
	go s.load()

	certificate, err := selfSigned()
	if err != nil {
		log.Fatal(err)
	}

	https := &http.Server{
		Addr:    ":" + os.Args[1],
		Handler: s,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			// Verified per request, against the trust of that moment.
			ClientAuth: tls.RequestClientCert,
			MinVersion: tls.VersionTLS12,
		},
	}

	log.Fatal(https.ListenAndServeTLS("", ""))
}

// load reads the ConfigMap: until it succeeds once, then every second or never again.
func (s *server) load() {
	for ; ; time.Sleep(time.Second) {
		found, err := readTrust()

		s.mutex.Lock()
		if err != nil {
			s.loadErr = err.Error()
		} else {
			s.trust, s.loadErr = found, ""
		}
		s.mutex.Unlock()

		if err == nil && s.mode == "once" {
			return
		}
	}
}

func readTrust() (trust, error) {
	bundle, err := incluster.Bundle()
	if err != nil {
		return trust{}, err
	}

	client, err := incluster.Client(bundle)
	if err != nil {
		return trust{}, err
	}

	response, err := incluster.Get(client, configMap)
	if err != nil {
		return trust{}, err
	}
	defer response.Body.Close()

	if response.StatusCode != http.StatusOK {
		return trust{}, fmt.Errorf("%s: %s", configMap, response.Status)
	}

	var read struct {
		Data map[string]string `json:"data"`
	}
	if err := json.NewDecoder(response.Body).Decode(&read); err != nil {
		return trust{}, err
	}

	found := trust{bundle: []byte(read.Data["requestheader-client-ca-file"]), pool: x509.NewCertPool()}
	if !found.pool.AppendCertsFromPEM(found.bundle) {
		return trust{}, fmt.Errorf("%s: no requestheader-client-ca-file", configMap)
	}

	return found, json.Unmarshal([]byte(read.Data["requestheader-allowed-names"]), &found.names)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")

	if r.URL.Path == "/stats" {
		json.NewEncoder(w).Encode(s.stats())

		return
	}

	if why := s.refuse(r.TLS.PeerCertificates); why != "" {
		w.WriteHeader(http.StatusUnauthorized)
		json.NewEncoder(w).Encode(map[string]any{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401, "message": why,
		})

		return
	}

	version := s.group + "/v1"

	switch r.URL.Path {
	case "/apis/" + version:
		json.NewEncoder(w).Encode(map[string]any{
			"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version,
			"resources": []any{map[string]any{
				"name": "pings", "singularName": "ping", "namespaced": false, "kind": "Ping", "verbs": []string{"get", "list"},
			}},
		})
	case "/apis/" + version + "/pings":
		json.NewEncoder(w).Encode(map[string]any{
			"kind": "PingList", "apiVersion": version, "metadata": map[string]any{}, "items": []any{},
		})
	default:
		w.WriteHeader(http.StatusNotFound)
		json.NewEncoder(w).Encode(map[string]any{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
		})
	}
}

// refuse says why the caller may not come; nothing if it may.
func (s *server) refuse(chain []*x509.Certificate) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()

	why := s.why(chain)
	if why == "" {
		s.served++
	} else {
		s.refused++
		s.lastWhy = why
	}

	if len(chain) > 0 {
		s.lastName = chain[0].Subject.CommonName
	}

	return why
}

func (s *server) why(chain []*x509.Certificate) string {
	if len(chain) == 0 {
		return "no front-proxy client certificate"
	}

	if s.trust.pool == nil {
		return "the front-proxy CA is not known yet: " + s.loadErr
	}

	options := x509.VerifyOptions{Roots: s.trust.pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := chain[0].Verify(options); err != nil {
		return err.Error()
	}

	if name := chain[0].Subject.CommonName; len(s.trust.names) > 0 && !slices.Contains(s.trust.names, name) {
		return "the name " + name + " is not allowed"
	}

	return ""
}

func (s *server) stats() map[string]any {
	s.mutex.Lock()
	defer s.mutex.Unlock()

	return map[string]any{
		"mode": s.mode, "served": s.served, "refused": s.refused, "lastName": s.lastName, "lastRefusal": s.lastWhy,
		"loadError": s.loadErr, "caFingerprints": incluster.Fingerprints(s.trust.bundle), "allowedNames": s.trust.names,
	}
}

// selfSigned: kube-apiserver is told not to verify us, what is tested is the other direction.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "aggregated"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(365 * 24 * time.Hour),
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
