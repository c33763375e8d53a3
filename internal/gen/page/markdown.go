package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks are what Markdown would take for a mark in plain words. An underscore inside
// of a word is none.
var marks = strings.NewReplacer(`\`, `\\`, "<", "&lt;", "*", `\*`, "[", `\[`, "]", `\]`)

// text returns words as Markdown in one line. Code in backquotes stays code.
func text(s string) string {
	parts := strings.Split(strings.Join(strings.Fields(s), " "), "`")
	for i := range parts {
		if i%2 == 0 || i == len(parts)-1 { // not between two backquotes
			parts[i] = marks.Replace(parts[i])
		}
	}
	return strings.Join(parts, "`")
}

// cell returns text for a cell of a table, which a bar ends, in code too.
func cell(s string) string { return strings.ReplaceAll(text(s), "|", `\|`) }

// code returns s as code.
func code(s string) string {
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// capital returns s with a capital at its start.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// cites returns links to sources by their numbers: "[1], [2]".
func cites(numbers []int) string {
	links := make([]string, len(numbers))
	for i, n := range numbers {
		links[i] = fmt.Sprintf("[%d]", n)
	}
	return strings.Join(links, ", ")
}
