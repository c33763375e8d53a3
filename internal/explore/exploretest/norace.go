//go:build !race

package exploretest

const raceEnabled = false
