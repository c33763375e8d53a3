package answer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// harEntry is one entry of a HAR file.
//
// Source: http://www.softwareishard.com/blog/har-12-spec/ (read 2026-11-29).
type harEntry struct {
	Request  *harRequest  `json:"request"`
	Response *harResponse `json:"response"`
}

type harRequest struct {
	Method   string      `json:"method"`
	URL      string      `json:"url"`
	Headers  []harHeader `json:"headers"`
	PostData struct {
		Text string `json:"text"`
	} `json:"postData"`
}

type harResponse struct {
	Status  int         `json:"status"`
	Headers []harHeader `json:"headers"`
	Content struct {
		Size     int    `json:"size"`
		Text     string `json:"text"`
		Encoding string `json:"encoding"`
	} `json:"content"`
}

type harHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// harFile is a whole file, or an entry by itself.
type harFile struct {
	Log *struct {
		Entries []harEntry `json:"entries"`
	} `json:"log"`
	harEntry
}

// harStart is how a HAR file begins.
var harStart = regexp.MustCompile(`^\s*\{\s*"log"\s*:\s*\{`)

// isHAR reports whether the text is a JSON object with the members of a HAR file, or
// one that is cut. An object whose status is told beside it is a body, whatever is in it,
// unless an entry is asked for.
func isHAR(text string, o Options) bool {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || o.Status != 0 && o.Entry == 0 {
		return false
	}
	var f harFile
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return harStart.MatchString(text)
	}
	return f.Log != nil || f.Response != nil && (f.Response.Status != 0 || f.Request != nil && f.Request.URL != "")
}

func parseHAR(text string, o Options) (*Answer, error) {
	var f harFile
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, errors.New("the HAR file is not JSON that can be read: is it whole?")
	}
	entries := []harEntry{f.harEntry}
	if f.Log != nil {
		entries = f.Log.Entries
	}
	switch {
	case len(entries) == 0:
		return nil, errors.New("the HAR file has no entry")
	case len(entries) > 1 && o.Entry == 0:
		return nil, fmt.Errorf("the HAR file has %d entries: say which one with --entry, 1 to %d", len(entries), len(entries))
	case o.Entry > len(entries):
		return nil, fmt.Errorf("the HAR file has no entry %d: --entry is 1 to %d", o.Entry, len(entries))
	}
	return entries[max(o.Entry, 1)-1].answer()
}

func (e harEntry) answer() (*Answer, error) {
	if e.Response == nil {
		return nil, errors.New("the HAR entry has no response")
	}
	if e.Response.Status == 0 { // what browsers write where none came
		return nil, errors.New("the HAR entry has no answer: the request may have arrived, so its effect is unknown; never send again under a new key")
	}
	a := &Answer{Status: e.Response.Status, Header: headers(e.Response.Headers), Body: []byte(e.Response.Content.Text)}
	if e.Response.Content.Encoding == "base64" {
		b, err := base64.StdEncoding.DecodeString(e.Response.Content.Text)
		if err != nil {
			return nil, errors.New("the HAR entry's body is not the base64 that it says it is")
		}
		a.Body = b
	}
	if e.Response.Content.Size > 0 && len(a.Body) == 0 {
		a.Cut = "its body is not in the HAR file: save it with content"
	}
	a.Header.Del("Content-Length") // of the body on the wire, which may have been packed
	if r := e.Request; r != nil && r.Method != "" {
		u, err := url.Parse(r.URL)
		if err != nil || u.Host == "" || !methodForm.MatchString(r.Method) {
			return nil, errors.New("the HAR entry's request has no method or no URL")
		}
		a.Method, a.URL, a.RequestHeader, a.RequestBody = r.Method, u, headers(r.Headers), []byte(r.PostData.Text)
	}
	return a, nil
}

// headers drops the pseudo headers of HTTP/2.
func headers(list []harHeader) http.Header {
	h := http.Header{}
	for _, x := range list {
		if !strings.HasPrefix(x.Name, ":") {
			h.Add(x.Name, x.Value)
		}
	}
	return h
}
