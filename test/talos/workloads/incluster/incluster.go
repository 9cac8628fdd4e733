// Package incluster is what a pod has to talk to its cluster: the projected
// token and the CA bundle of kube-root-ca.crt, read from the usual place.
package incluster

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const directory = "/var/run/secrets/kubernetes.io/serviceaccount/"

// Address is the API server as the pod's environment names it.
func Address() string {
	return "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
}

// Bundle is the CA bundle as it is on disk now.
func Bundle() ([]byte, error) {
	return os.ReadFile(directory + "ca.crt")
}

// Token is the projected token as it is on disk now; the kubelet renews it.
func Token() (string, error) {
	token, err := os.ReadFile(directory + "token")

	return strings.TrimSpace(string(token)), err
}

// Client trusts the bundle and nothing else. Every request has a connection of
// its own, so that each one proves trust anew.
func Client(bundle []byte) (*http.Client, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, errors.New("no certificate in the bundle")
	}

	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		},
	}, nil
}

// Get asks the API server for a path with the token that is on disk now.
func Get(client *http.Client, path string) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, Address()+path, nil)
	if err != nil {
		return nil, err
	}

	token, err := Token()
	if err != nil {
		return nil, err
	}

	request.Header.Set("Authorization", "Bearer "+token)

	return client.Do(request)
}

// Fingerprints are the SHA-256 of every certificate in a bundle, lower-case hex.
func Fingerprints(bundle []byte) []string {
	found := []string{}

	for block, rest := pem.Decode(bytes.TrimSpace(bundle)); block != nil; block, rest = pem.Decode(rest) {
		sum := sha256.Sum256(block.Bytes)
		found = append(found, hex.EncodeToString(sum[:]))
	}

	return found
}
