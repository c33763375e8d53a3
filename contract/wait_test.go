package contract_test

import (
	"math"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

const forever time.Duration = math.MaxInt64

// arrival is when the replies of these tests come.
var arrival = time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)

func TestParseWait(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		value string
		unit  time.Duration
		want  time.Duration
	}{
		{"0", s, 0},
		{"1", s, s},
		{"120", s, 2 * time.Minute},
		{"007", s, 7 * s},
		{" 5 ", s, 5 * s},
		{"\t5", s, 5 * s},
		{"0.5", s, 500 * ms},
		{"1.25", s, 1250 * ms},
		{".5", s, 500 * ms},
		{"5.", s, 5 * s},
		{"0.000000001", s, 1},
		{"0.0000000009", s, 0},
		{"1500", ms, 1500 * ms},
		{"0.5", ms, 500 * time.Microsecond},
		{"2", time.Minute, 2 * time.Minute},
		{"7, 9", s, 9 * s},
		{"9,7", s, 9 * s},
		{"7, soon", s, 7 * s},
		{"-5, 9", s, 9 * s},
		{"1,,2", s, 2 * s},

		{"", s, 0},
		{" ", s, 0},
		{".", s, 0},
		{",", s, 0},
		{"soon", s, 0},
		{"-1", s, 0},
		{"+1", s, 0},
		{"- 1", s, 0},
		{"-9223372036854775808", s, 0},
		{"1e3", s, 0},
		{"0x10", s, 0},
		{"1_000", s, 0},
		{"1.2.3", s, 0},
		{"1.5s", s, 0},
		{"5s", s, 0},
		{"5;q=1", s, 0},
		{"5 6", s, 0},
		{"1.-5", s, 0},
		{"\u0665", s, 0}, // an Arabic-Indic five
		{"NaN", s, 0},
		{"Inf", s, 0},
		{"1\x00", s, 0},

		{"9223372036", s, 9223372036 * s},
		{"9223372036.854775807", s, forever},
		{"9223372036.854775808", s, forever},
		{"9223372036.9", s, forever},
		{"9223372036.8547758091", s, forever},
		{"9223372037", s, forever},
		{"92233720368547758070", s, forever},
		{"1" + strings.Repeat("0", 23), s, forever},
		{strings.Repeat("9", 5000), s, forever},
		{strings.Repeat("9", 50) + "x", s, 0},
		{strings.Repeat("9", 50) + ".x", s, 0},
		{"9223372036.9x", s, 0},
		{"9223372036854", ms, 9223372036854 * ms},
		{"9223372036855", ms, forever},
		{"1", forever, forever},
		{"4", 1 << 62, forever},
		{"0", forever, 0},
		{"1", 0, 0},
		{"1", -s, 0},
		{"30", -1 << 60, 0},
		{"9223372036854775800", 1, forever - 7},
		{"9223372036854775807", 1, forever},
		{"9223372036854775808", 1, forever},
		{"3", forever / 3, forever - 1},

		{"Sun, 29 Nov 2026 12:01:30 GMT", s, 90 * s},
		{"Sunday, 29-Nov-26 12:01:30 GMT", s, 90 * s},
		{"Sun Nov 29 12:01:30 2026", s, 90 * s},
		{" Sun, 29 Nov 2026 12:01:30 GMT ", s, 90 * s},
		{"Sun, 29 Nov 2026 12:01:30 +0000", s, 90 * s},
		{"Sun, 29 Nov 2026 13:01:30 +0100", s, 90 * s},
		{"Sun, 29 Nov 2026 11:59:59 +0000", s, 0},
		{"Sun, 29 Nov 2026 12:01:30 GMT", ms, 90 * s},
		{"Sun, 29 Nov 2026 12:00:00 GMT", s, 0},
		{"Sun, 29 Nov 2026 11:59:59 GMT", s, 0},
		{"Sun, 06 Nov 1994 08:49:37 GMT", s, 0},
		{"Sunday, 06-Nov-94 08:49:37 GMT", s, 0},
		{"Sun Nov  6 08:49:37 1994", s, 0},
		{"Mon, 01 Jan 0001 00:00:00 GMT", s, 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", s, forever},
		{"Sun, 31 Nov 2026 12:01:30 GMT", s, 0},
		{"2026-11-29T12:01:30Z", s, 0},
		{"Sun, 29 Nov 2026", s, 0},
	} {
		t.Run(c.value, func(t *testing.T) {
			assert.Equal(t, c.want, contract.ParseWait(c.value, c.unit, arrival))
		})
	}
}

func TestReplyWait(t *testing.T) {
	const s = time.Second
	const date = "Sun, 29 Nov 2026 12:01:30 GMT"
	for _, c := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"none", nil, 0},
		{"seconds", http.Header{"Retry-After": {"7"}}, 7 * s},
		{"a date, from the arrival", http.Header{"Retry-After": {date}}, 90 * s},
		{"a date, from the reply's own date", http.Header{"Retry-After": {date}, "Date": {"Sun, 29 Nov 2026 12:01:00 GMT"}}, 30 * s},
		{"a clock that is behind", http.Header{"Retry-After": {date}, "Date": {"Sun, 29 Nov 2026 11:01:00 GMT"}}, time.Hour + 30*s},
		{"a date that is past by the reply's own", http.Header{"Retry-After": {date}, "Date": {"Sun, 29 Nov 2026 13:00:00 GMT"}}, 0},
		{"the reply's date with a numeric zone", http.Header{"Retry-After": {date}, "Date": {"Sun, 29 Nov 2026 12:01:00 +0000"}}, 30 * s},
		{"the reply's date in another form", http.Header{"Retry-After": {date}, "Date": {" Sunday, 29-Nov-26 12:01:00 GMT"}}, 30 * s},
		{"a date of the reply that is none", http.Header{"Retry-After": {date}, "Date": {"today"}}, 90 * s},
		{"a date of the reply that is none, and one", http.Header{"Retry-After": {date}, "Date": {"today", "Sun, 29 Nov 2026 12:01:00 GMT"}}, 30 * s},
		{"seconds know no date", http.Header{"Retry-After": {"7"}, "Date": {"Sun, 29 Nov 2026 12:01:00 GMT"}}, 7 * s},
		{"two headers", http.Header{"Retry-After": {"7", "9"}}, 9 * s},
		{"two headers, the longer first", http.Header{"Retry-After": {"9", "7"}}, 9 * s},
		{"two headers, one of them garbage", http.Header{"Retry-After": {"soon", "9", "-1"}}, 9 * s},
		{"seconds and a date", http.Header{"Retry-After": {"7", date}}, 90 * s},
		{"names that are not canonical", http.Header{"retry-after": {date}, "date": {"Sun, 29 Nov 2026 12:01:00 GMT"}}, 30 * s},
		{"empty", http.Header{"Retry-After": {""}}, 0},
		{"negative", http.Header{"Retry-After": {"-1"}}, 0},
		{"overflow", http.Header{"Retry-After": {"9223372037"}}, forever},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, contract.Reply{Header: c.header, At: arrival}.Wait())
		})
	}
}

func TestReplyWaitIn(t *testing.T) {
	r := contract.Reply{At: arrival, Header: http.Header{
		"Retry-After":    {"7"},
		"Retry-After-Ms": {"1500", "250"},
		"X-Reset":        {"Sun, 29 Nov 2026 12:00:05 GMT"},
	}}
	assert.Equal(t, 1500*time.Millisecond, r.WaitIn("retry-after-ms", time.Millisecond))
	assert.Equal(t, 5*time.Second, r.WaitIn("X-Reset", time.Millisecond))
	assert.Equal(t, 7*time.Second, r.WaitIn("Retry-After", time.Second))
	assert.Zero(t, r.WaitIn("X-Other", time.Second))
}

// exactly reads what parseNumber promises, in numbers without a limit.
func exactly(value string, unit time.Duration) (time.Duration, bool) {
	if value == "" || value == "." || strings.Trim(value, "0123456789.") != "" || strings.Count(value, ".") > 1 {
		return 0, false
	}
	whole, fraction, _ := strings.Cut(value, ".")
	digits, ok := new(big.Int).SetString("0"+whole+fraction, 10)
	if !ok {
		return 0, false
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)
	r := new(big.Rat).SetFrac(digits, ten)
	r.Mul(r, new(big.Rat).SetInt64(int64(unit)))
	ns := new(big.Int).Quo(r.Num(), r.Denom())
	if !ns.IsInt64() {
		return forever, true
	}
	return time.Duration(ns.Int64()), true
}

// FuzzParseWait: never negative, right where the value is a number, 0 where it is
// neither number nor date, and longer for a larger number or unit.
func FuzzParseWait(f *testing.F) {
	for _, v := range []string{
		"1", "0.5", "7, 9", "1e3", "-1", "9223372037", "9223372036.854775808", "9223372036.8547758091", "",
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Fri, 31 Dec 9999 23:59:59 GMT",
	} {
		f.Add(v, int64(time.Second), int64(0))
		f.Add(v, int64(time.Millisecond), arrival.Unix())
		f.Add(v, int64(math.MaxInt64), int64(math.MinInt64))
	}
	f.Fuzz(func(t *testing.T, value string, unit, from int64) {
		at := time.Unix(from, 0)
		wait := contract.ParseWait(value, time.Duration(unit), at)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.Equal(t, wait, contract.ParseWait(" "+value+"\t", time.Duration(unit), at))
		if _, err := http.ParseTime(strings.TrimSpace(value)); err == nil {
			require.GreaterOrEqual(t, wait, contract.ParseWait(value, time.Duration(unit), at.Add(time.Second)))
			return
		}
		require.Equal(t, wait, contract.ParseWait(value, time.Duration(unit), time.Time{}), "a number has no date")
		require.Zero(t, contract.ParseWait("-"+value, time.Duration(unit), at)-contract.ParseWait(afterComma(value), time.Duration(unit), at))
		number := strings.TrimSpace(value)
		if strings.Contains(number, ",") {
			return
		}
		if unit <= 0 {
			require.Zero(t, wait)
			return
		}
		if len(number) > 100 {
			return
		}
		want, ok := exactly(number, time.Duration(unit))
		if !ok {
			require.Zero(t, wait)
			return
		}
		if unit > int64(time.Hour) {
			return
		}
		// Fractions of a unit are rounded down, digit by digit.
		slack := 9 * time.Duration(len(number))
		require.LessOrEqual(t, wait, want)
		require.GreaterOrEqual(t, wait, want-slack)
		require.GreaterOrEqual(t, contract.ParseWait("9"+number, time.Duration(unit), at), wait)
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			require.LessOrEqual(t, contract.ParseWait(strconv.Itoa(n-1), time.Duration(unit), at), wait)
		}
	})
}

// afterComma returns what is left of a list without its first value.
func afterComma(list string) string {
	_, rest, _ := strings.Cut(list, ",")
	return rest
}

// A date without a moment to measure it from says nothing.
func TestWaitFromNoKnownMoment(t *testing.T) {
	r := contract.Reply{Header: http.Header{"Retry-After": {"Wed, 21 Oct 2026 07:28:00 GMT"}}}
	assert.Zero(t, r.Wait())
	r.Header.Set("Date", "Wed, 21 Oct 2026 07:27:00 GMT")
	assert.Equal(t, time.Minute, r.Wait())
}
