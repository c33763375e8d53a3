package contracttest

// RuleNames returns the names of all rules.
func RuleNames() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

// CheckRule checks one rule.
func CheckRule(name string, s Spec) Result {
	for _, r := range rules() {
		if r.name == name {
			return r.run(s)
		}
	}
	panic("no rule " + name)
}
