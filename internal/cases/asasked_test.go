package cases_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/idempact/idempact/contract"
)

// shown returns what a GET of a resource brings: what the case says of it, or the
// wanted resource of a Duplicate as the case's request asked for it. It is no
// reply at all for anything else.
func shown(c acceptanceCase, get *http.Request) reply {
	if r, ok := c.shows[path.Base(get.URL.Path)]; ok {
		return r
	}
	if body := asAsked(c, get); body != nil {
		return reply{code: http.StatusOK, message: message{
			header: []headerField{{"Content-Type", "application/json"}}, body: body,
		}}
	}
	return reply{}
}

func asAsked(c acceptanceCase, get *http.Request) []byte {
	if c.want.status != contract.Duplicate || c.want.resource == nil || *c.want.resource == "" ||
		path.Base(get.URL.Path) != *c.want.resource {
		return nil
	}
	show, ok := showers[c.provider]
	if !ok {
		show = showJSON
	}
	shown, err := json.Marshal(show(c, *c.want.resource))
	if err != nil {
		panic(err) // made of JSON and text
	}
	return shown
}

// showers say how a provider shows a resource, where that is not showJSON.
var showers = map[string]func(c acceptanceCase, ref string) map[string]any{
	"stripe": showStripe,
	"zepto":  showZepto,
}

// showJSON shows the request's fields and an id. Where they stand in an object of
// their own ({"payments": {…}}), so does the id.
func showJSON(c acceptanceCase, ref string) map[string]any {
	o, _ := contract.DecodeObject(c.request.body)
	for _, v := range o {
		if inner, ok := v.(contract.Object); ok && len(o) == 1 {
			inner["id"] = ref
			return o
		}
	}
	if o == nil {
		o = contract.Object{}
	}
	o["id"] = ref
	return o
}

// showStripe makes an object of the form's fields, and of what the last reply
// shows of it.
func showStripe(c acceptanceCase, ref string) map[string]any {
	objects := map[string]string{"pi": "payment_intent", "ch": "charge", "re": "refund", "in": "invoice"}
	prefix, _, _ := strings.Cut(ref, "_")
	o := map[string]any{}
	form, _ := url.ParseQuery(string(c.request.body))
	for name, values := range form {
		put(o, strings.Split(strings.ReplaceAll(name, "]", ""), "["), formValue(values[0]))
	}
	last, _ := contract.DecodeObject(c.replies[len(c.replies)-1].body)
	for name, v := range last.Object("error." + objects[prefix]) {
		o[name] = v
	}
	o["id"], o["object"] = ref, objects[prefix]
	return o
}

func put(o map[string]any, names []string, v any) {
	for _, name := range names[:len(names)-1] {
		next, ok := o[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			o[name] = next
		}
		o = next
	}
	o[names[len(names)-1]] = v
}

// formValue returns a form's text as the JSON that Stripe shows: numbers and
// booleans are themselves.
func formValue(s string) any {
	switch {
	case s == "true" || s == "false":
		return s == "true"
	case s != "" && strings.Trim(s, "0123456789") == "":
		return json.Number(s)
	default:
		return s
	}
}

// showZepto shows the request's fields under a reference, which on PayTo is the
// request's own uid.
func showZepto(c acceptanceCase, ref string) map[string]any {
	data, _ := contract.DecodeObject(c.request.body)
	u, _ := url.Parse(c.url())
	switch segments := strings.Split(u.Path, "/"); {
	case segments[1] == "payto":
		data["uid"] = ref
	case segments[1] == "credits":
		data["for_ref"] = segments[2]
		fallthrough
	default:
		data["ref"] = ref
	}
	return map[string]any{"data": data}
}
