// Command yaml reads texts as kubectl reads files, and says what the API server would hold.
//
// Its standard input is a sequence of JSON strings, each the text of a file. What it says of each is one line of JSON:
//
//	{"documents": [...], "error": "...", "doubtful": ["..."]}
//
// Where there is an error, kubectl refuses the file. Doubtful is what kubectl takes, and what is a mistake all the same: a key
// that stands twice, of which it takes the last ("duplicate"), and what stands behind the end of a document, which it does
// not read ("more").
package main

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	yamlv2 "go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	kubectl "k8s.io/apimachinery/pkg/util/yaml"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// As kubectl has it.
const looksAhead = 4096

type answer struct {
	Documents []stdjson.RawMessage `json:"documents"`
	Error     string               `json:"error,omitempty"`
	Doubtful  []string             `json:"doubtful,omitempty"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "yaml:", err)
		os.Exit(1)
	}
}

func run(input io.Reader, output io.Writer) error {
	texts := stdjson.NewDecoder(bufio.NewReader(input))
	buffered := bufio.NewWriter(output)
	lines := stdjson.NewEncoder(buffered)
	for {
		var text string
		switch err := texts.Decode(&text); {
		case errors.Is(err, io.EOF):
			return buffered.Flush()
		case err != nil:
			return fmt.Errorf("reading a text: %w", err)
		}
		if err := lines.Encode(read(text)); err != nil {
			return err
		}
	}
}

func read(text string) answer {
	said := answer{Documents: []stdjson.RawMessage{}}
	documents, err := written(text)
	if err == nil {
		for _, document := range documents {
			var held []byte
			if held, err = stored(document); err != nil {
				break
			}
			said.Documents = append(said.Documents, held)
		}
	}
	if err != nil {
		said.Error = err.Error()
	}
	if isTwice(text, documents) {
		said.Doubtful = append(said.Doubtful, "duplicate")
	}
	if isMore(text) {
		said.Doubtful = append(said.Doubtful, "more")
	}
	return said
}

// The documents of a file as JSON: what StreamVisitor.Visit of k8s.io/cli-runtime/pkg/resource does.
func written(text string) ([][]byte, error) {
	var documents [][]byte
	decoder := kubectl.NewYAMLOrJSONDecoder(strings.NewReader(text), looksAhead)
	for {
		var document runtime.RawExtension
		if err := decoder.Decode(&document); err != nil {
			if err == io.EOF {
				return documents, nil
			}
			return documents, err
		}
		raw := bytes.TrimSpace(document.Raw)
		if len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
			documents = append(documents, raw)
		}
	}
}

// What comes back of a document: kubectl decodes it and sends it, the API server decodes it and keeps it.
func stored(document []byte) ([]byte, error) {
	for range 2 {
		var value any
		if err := json.Unmarshal(document, &value); err != nil {
			return nil, err
		}
		var err error
		if document, err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return document, nil
}

// Whether some key stands twice in an object, or two keys become one text.
func isTwice(text string, documents [][]byte) bool {
	for _, document := range documents {
		var value any
		twice, err := strictjson.UnmarshalStrict(document, &value)
		if err == nil && len(twice) > 0 {
			return true
		}
	}
	for _, chunk := range chunks(text) {
		var value any
		if err := yamlv2.UnmarshalStrict(chunk, &value); err != nil {
			if strings.Contains(err.Error(), "already set in map") {
				return true
			}
			continue
		}
		converted, err := yaml.YAMLToJSON(chunk)
		var kept any
		if err == nil && stdjson.Unmarshal(converted, &kept) == nil && keys(value) != keys(kept) {
			return true
		}
	}
	return false
}

func keys(value any) int {
	count := 0
	switch value := value.(type) {
	case map[any]any:
		for _, below := range value {
			count += 1 + keys(below)
		}
	case map[string]any:
		for _, below := range value {
			count += 1 + keys(below)
		}
	case []any:
		for _, below := range value {
			count += keys(below)
		}
	}
	return count
}

// Whether something stands behind the end of a document.
func isMore(text string) bool {
	for _, chunk := range chunks(text) {
		var value any
		decoder := yamlv2.NewDecoder(bytes.NewReader(chunk))
		if decoder.Decode(&value) == nil && decoder.Decode(&value) != io.EOF {
			return true
		}
	}
	return false
}

// The parts that kubectl splits YAML into.
func chunks(text string) [][]byte {
	var chunks [][]byte
	reader := kubectl.NewYAMLReader(bufio.NewReader(strings.NewReader(yamlOf(text))))
	for {
		chunk, err := reader.Read()
		if err != nil {
			return chunks
		}
		chunks = append(chunks, chunk)
	}
}

// What kubectl reads as YAML: all of a text, or what follows a value of JSON that it begins with.
func yamlOf(text string) string {
	if !kubectl.IsJSONBuffer([]byte(text[:min(len(text), looksAhead)])) {
		return text
	}
	decoder := stdjson.NewDecoder(strings.NewReader(text))
	for {
		rest := text[decoder.InputOffset():]
		var value stdjson.RawMessage
		if err := decoder.Decode(&value); err == io.EOF {
			return ""
		} else if err != nil {
			blanks := rest[:len(rest)-len(strings.TrimLeftFunc(rest, unicode.IsSpace))]
			if end := strings.IndexByte(blanks, '\n'); end >= 0 {
				return rest[end+1:]
			}
			return rest[len(blanks):]
		}
	}
}
