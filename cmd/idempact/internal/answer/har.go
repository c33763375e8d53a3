package answer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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

// isHAR reports whether the text is a JSON object with the members of a HAR file, or
// one that is cut.
func isHAR(text string) bool {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return false
	}
	var f harFile
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return false
	}
	return f.Log != nil || f.Response != nil && f.Response.Status != 0
}

func parseHAR(text string, o Options) (*Answer, error) {
	var f harFile
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, errors.New("the HAR file is not JSON that can be read")
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
	a := &Answer{Status: e.Response.Status, Header: headers(e.Response.Headers), Body: []byte(e.Response.Content.Text)}
	if e.Response.Content.Encoding == "base64" {
		b, err := base64.StdEncoding.DecodeString(e.Response.Content.Text)
		if err != nil {
			return nil, errors.New("the HAR entry's body is not the base64 that it says it is")
		}
		a.Body = b
	}
	a.Header.Del("Content-Length") // of the body on the wire, which may have been packed
	if r := e.Request; r != nil && r.Method != "" {
		u, err := url.Parse(r.URL)
		if err != nil {
			return nil, errors.New("the HAR entry's request has no URL")
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
