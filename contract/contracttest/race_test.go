//go:build race

package contracttest_test

// underRace says that the race detector is on.
const underRace = true
