package stripe

import "encoding/json"

// documentedShape reads a body with encoding/json alone: "object" has a string id
// and no error, "error" has an error object with a type or a code.
func documentedShape(body []byte) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil {
		return ""
	}
	var fault struct{ Type, Code any }
	if e, ok := m["error"]; ok && json.Unmarshal(e, &fault) == nil && string(e) != "null" {
		_, typed := fault.Type.(string)
		_, coded := fault.Code.(string)
		if typed || coded {
			return "error"
		}
		return ""
	}
	var id string
	if json.Unmarshal(m["id"], &id) == nil && id != "" {
		return "object"
	}
	return ""
}
