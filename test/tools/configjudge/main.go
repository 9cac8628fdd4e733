// Command configjudge reads machine configurations with Talos's own loader and
// prints what they mean to it, as a JSON array: one element a file, in order.
// Private keys are not printed, only whether they are there and their public half.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/siderolabs/crypto/x509"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
)

// judgement is what one configuration means to Talos.
type judgement struct {
	File string `json:"file"`
	// Error is set where the loader or the validation refuses the configuration.
	Error    string   `json:"error,omitempty"`
	Warnings []string `json:"warnings"`

	Role           string          `json:"role"`
	Talos          *authority      `json:"talos"`
	Kubernetes     *authority      `json:"kubernetes"`
	Aggregator     *authority      `json:"aggregator"`
	Etcd           *authority      `json:"etcd"`
	Encryption     map[string]any  `json:"encryption"`
	Secretbox      bool            `json:"secretbox"`
	AESCBC         bool            `json:"aescbc"`
	ServiceAccount *serviceAccount `json:"serviceAccount"`
	ClusterName    string          `json:"clusterName"`
	Endpoint       string          `json:"endpoint"`
	ClusterID      string          `json:"clusterID"`
	APIServerPort  int             `json:"apiServerPort"`
}

// authority is one CA: PEM text throughout.
type authority struct {
	Issuing  string   `json:"issuing"`
	HasKey   bool     `json:"hasKey"`
	Fits     bool     `json:"fits"`
	Accepted []string `json:"accepted"`
}

type serviceAccount struct {
	Accepted  []string `json:"accepted"`
	IssuerURL string   `json:"issuerURL"`
	Issuers   []string `json:"issuers"`
	Audiences []string `json:"audiences"`
}

// cloud is the runtime that configurations are validated for.
type cloud struct{}

func (cloud) String() string        { return "cloud" }
func (cloud) RequiresInstall() bool { return false }
func (cloud) InContainer() bool     { return false }

func main() {
	judgements := make([]judgement, 0, len(os.Args)-1)

	for _, file := range os.Args[1:] {
		judgements = append(judgements, judge(file))
	}

	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")

	if err := encoder.Encode(judgements); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(file string) judgement {
	result := judgement{File: file, Warnings: []string{}}

	provider, err := configloader.NewFromFile(file)
	if err != nil {
		result.Error = err.Error()

		return result
	}

	warnings, err := provider.Validate(cloud{})
	result.Warnings = append(result.Warnings, warnings...)

	if err != nil {
		result.Error = err.Error()
	}

	describe(&result, provider)

	return result
}

func describe(result *judgement, provider config.Provider) {
	security := provider.Machine().Security()
	result.Role = provider.Machine().Type().String()
	result.Talos = newAuthority(security.IssuingCA(), security.AcceptedCAs())

	if kubernetes := provider.K8sAPIServerCAConfig(); kubernetes != nil {
		result.Kubernetes = newAuthority(kubernetes.IssuingCA(), kubernetes.AcceptedCAs())
	}

	if server := provider.K8sAPIServerConfig(); server != nil {
		result.APIServerPort = server.APIPort()
	}

	if aggregator := provider.K8sAggregatorCAConfig(); aggregator != nil {
		result.Aggregator = newAuthority(aggregator.IssuingCA(), aggregator.AcceptedCAs())
	}

	if encryption := provider.K8sEtcdEncryptionConfig(); encryption != nil {
		result.Encryption = encryption.EtcdEncryptionConfig()
	}

	if cluster := provider.Cluster(); cluster != nil {
		result.Secretbox = cluster.SecretboxEncryptionSecret() != ""
		result.AESCBC = cluster.AESCBCEncryptionSecret() != ""

		if provider.Machine().Type().IsControlPlane() {
			if ca := cluster.Etcd().CA(); ca != nil {
				result.Etcd = newAuthority(ca, nil)
			}
		}
	}

	if account := provider.K8sServiceAccountConfig(); account != nil {
		result.ServiceAccount = newServiceAccount(account.AcceptedKeys(), account.IssuerURL(), account.AcceptedIssuers(), account.APIAudiences())
	}

	if cluster := provider.K8sClusterConfig(); cluster != nil {
		result.ClusterName = cluster.ClusterName()
		result.Endpoint = cluster.ClusterEndpoint().String()
	}

	if identity := provider.DiscoveryIdentityConfig(); identity != nil {
		result.ClusterID = identity.ClusterID()
	}
}

func newAuthority(issuing *x509.PEMEncodedCertificateAndKey, accepted []*x509.PEMEncodedCertificate) *authority {
	result := &authority{Accepted: []string{}}

	if issuing != nil {
		result.Issuing = string(issuing.Crt)
		result.HasKey = len(issuing.Key) > 0

		if result.HasKey {
			// Talos signs with the first certificate of the field: this is the check that it does not make itself.
			_, err := x509.NewCertificateAuthorityFromCertificateAndKey(issuing)
			result.Fits = err == nil && signs(issuing)
		}
	}

	for _, ca := range accepted {
		result.Accepted = append(result.Accepted, string(ca.Crt))
	}

	return result
}

// signs tells whether a certificate can be issued, which fails where key and certificate do not fit.
func signs(issuing *x509.PEMEncodedCertificateAndKey) bool {
	ca, err := x509.NewCertificateAuthorityFromCertificateAndKey(issuing)
	if err != nil {
		return false
	}

	_, err = x509.NewKeyPair(ca)

	return err == nil
}

func newServiceAccount(keys []*x509.PEMEncodedKey, issuerURL string, issuers, audiences []string) *serviceAccount {
	result := &serviceAccount{Accepted: []string{}, IssuerURL: issuerURL, Issuers: issuers, Audiences: audiences}

	for _, key := range keys {
		result.Accepted = append(result.Accepted, string(key.Key))
	}

	return result
}
