package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		pattern, text, _ := strings.Cut(lines.Text(), " ")
		for _, way := range []string{"%s", `\A(?:%s)`, `\A(?:%s)\z`} {
			if regexp.MustCompile(fmt.Sprintf(way, decoded(pattern))).MatchString(decoded(text)) {
				fmt.Print("1")
			} else {
				fmt.Print("0")
			}
		}
		fmt.Println()
	}
}

func decoded(text string) string {
	bytes, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(bytes)
}
