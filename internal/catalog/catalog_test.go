package catalog

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// stub promises by path.
type stub map[string]contract.Terms

func (stub) Name() string                                                { return "stub" }
func (stub) Classify(contract.Call, contract.Reply) (o contract.Outcome) { return o }
func (s stub) Terms(c contract.Call) contract.Terms                      { return s[c.Request.URL.Path+string(c.Body)] }

// listed is a stub that lists its endpoints.
type listed struct {
	stub
	endpoints []contract.Endpoint
}

func (l listed) Endpoints() []contract.Endpoint { return l.endpoints }

func endpoint(path, body string) contract.Endpoint {
	return contract.Endpoint{Name: "pay", Method: http.MethodPost, URL: "https://api.stub.example" + path, Body: body}
}

func TestProviders(t *testing.T) {
	require.NotEmpty(t, Providers)
	assert.True(t, slices.IsSortedFunc(Providers, func(a, b Provider) int { return strings.Compare(a.Name, b.Name) }))
	for _, p := range Providers {
		t.Run(p.Name, func(t *testing.T) {
			assert.Equal(t, p.Name, p.New().Name(), "a provider's folder has the name of its adapter")
			assert.Regexp(t, "^Package "+p.Name+" .*[.]$", p.Synopsis)
			groups, err := p.Groups()
			require.NoError(t, err)
			assert.NotEmpty(t, groups)
			found, ok := Find(p.Name)
			assert.True(t, ok)
			assert.Equal(t, p.Name, found.Name)
		})
	}
	_, ok := Find("no-such-provider")
	assert.False(t, ok)
}

func TestGroups(t *testing.T) {
	a, b := contract.Terms{KeyHeader: "A"}, contract.Terms{KeyHeader: "B"}
	got, err := groups(listed{stub{"/a": a, "/b": b, `/c{"amount":100}`: a}, []contract.Endpoint{
		endpoint("/a", ""), endpoint("/b", ""), endpoint("/c", `{"amount":{amount}}`),
	}})
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, a, got[0].Terms)
	assert.Equal(t, []contract.Endpoint{endpoint("/a", ""), endpoint("/c", `{"amount":{amount}}`)}, got[0].Endpoints)
	assert.Equal(t, b, got[1].Terms)
}

func TestGroupsWithoutAList(t *testing.T) {
	_, err := groups(stub{})
	assert.ErrorContains(t, err, "no contract.Catalog")
	_, err = groups(listed{})
	assert.ErrorContains(t, err, "no endpoint")
	_, err = groups(listed{stub{}, []contract.Endpoint{{Name: "pay", Method: "POST", URL: "://"}}})
	assert.Error(t, err)
}

// words returns the facts of terms by name: what is said, and what is open.
func words(t contract.Terms) (said, open map[string]string) {
	said, open = map[string]string{}, map[string]string{}
	for _, f := range (Group{Terms: t}).Facts() {
		said[f.Name] = f.Value
		if f.Open != "" {
			open[f.Name] = f.Open
		}
	}
	return said, open
}

func TestFactsOfEverythingPromised(t *testing.T) {
	said, open := words(contract.Terms{
		KeyHeader: "Idempotency-Key", KeyQuoted: true, KeyScope: "payments", AccountHeaders: []string{"Account"},
		KeyMinLen: 1, KeyMaxLen: 64, KeyAlphabet: contract.Unreserved, KeyRequired: true,
		Retention: 24 * time.Hour, Repeat: contract.Replays, ReplayMarker: "Replayed",
		Mismatch: contract.MismatchRefused, MismatchAnswers: []contract.Answer{{Status: 422}, {Status: 409, Code: "other"}},
		InFlightAnswers: []contract.Answer{{Status: 409, Code: "in_use"}}, Saves: contract.SavesResults,
		WaitHeaders: []string{"Retry-After"}, MinWait: 30 * time.Second, LookUp: contract.LookUpByKey,
	})
	assert.Equal(t, map[string]string{
		"Key":                  "header `Idempotency-Key`, quoted, unique among `payments`, in the account of `Account`",
		"Limits":               "1 to 64 characters of `-.0-9A-Z_a-z~`",
		"Required":             "yes",
		"Remembered":           "24 hours",
		"A repeat":             "replays the first answer, marked by `Replayed`",
		"While the first runs": "`409 in_use`",
		"Other parameters":     "refused: `422`, `409 other`",
		"Saved":                "every executed result",
		"Waits":                "`Retry-After`; at least 30 seconds",
		"Look-up":              "by key",
	}, said)
	assert.Empty(t, open)
}

func TestFactsOfWhatIsOpen(t *testing.T) {
	said, open := words(contract.Terms{KeyField: "uid", Repeat: contract.Conflicts})
	assert.Equal(t, "body field `uid`", said["Key"])
	assert.Equal(t, "not published", said["Remembered"])
	assert.Len(t, open, 8, "all but the place of the key and whether it is required: %v", open)

	_, open = words(contract.Terms{KeyField: "uid", Mismatch: contract.MismatchRefused})
	assert.Contains(t, open, "A repeat")
	assert.Contains(t, open, "Other parameters")
}

func TestFactsWithoutAKey(t *testing.T) {
	said, open := words(contract.Terms{})
	assert.Contains(t, said["Key"], "none honoured")
	assert.Equal(t, "–", said["Remembered"])
	assert.NotContains(t, open, "Remembered")

	said, _ = words(contract.Terms{Idempotent: true})
	assert.Contains(t, said["Key"], "not needed")
}

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"for ever": contract.RetentionForever, "30 days": 720 * time.Hour, "2 days": 48 * time.Hour, "24 hours": 24 * time.Hour,
		"36 hours": 36 * time.Hour, "1 hour": time.Hour, "90 minutes": 90 * time.Minute, "1 second": time.Second, "500ms": 500 * time.Millisecond,
	} {
		assert.Equal(t, want, duration(d))
	}
}

func TestAlphabet(t *testing.T) {
	assert.Equal(t, "-.0-9A-Z_a-z~", alphabet(contract.Unreserved))
	assert.Equal(t, "abc", alphabet("cbaa"))
	assert.Equal(t, "`` `a ``", code(alphabet("a`")))
}
