// Command contract runs the scenarios of the Go client and prints one JSON line for each: name, ok,
// error, ms.
//
// With --list it prints the names of all that are implemented. With --processor it is one processor
// in a process of its own, which is meant to be killed. Else it reads JSON from its standard input:
// {stages: {NAME: STAGE}, keyPartitions: {KEY: ID}}, and plays those, one after the other. A
// scenario returns an error to fail, and has a hub of its own.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

const stageLimit = 120 * time.Second

type scenario func(ctx context.Context, stage *stage) error

// implemented has every scenario by its name.
func implemented() map[string]scenario {
	all := map[string]scenario{}
	for _, some := range []map[string]scenario{
		sending(), positions(), facts(), receiving(), refusals(), processors(),
	} {
		maps.Copy(all, some)
	}
	return all
}

type outcome struct {
	Name  string  `json:"name"`
	OK    bool    `json:"ok"`
	Error *string `json:"error"`
	MS    int64   `json:"ms"`
}

func play(name string, told told, keys map[string]string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), stageLimit)
	defer cancel()
	begun := time.Now()
	err := perform(ctx, told, keys)
	found := outcome{Name: name, OK: err == nil, MS: time.Since(begun).Milliseconds()}
	if err != nil {
		words := err.Error()
		found.Error = &words
	}
	return found
}

func perform(ctx context.Context, told told, keys map[string]string) error {
	wanted, known := implemented()[told.Scenario]
	if !known {
		return fmt.Errorf("there is no scenario %q", told.Scenario)
	}
	stage, err := newStage(told, keys)
	if err != nil {
		return err
	}
	defer stage.close()
	return wanted(ctx, stage)
}

func run() error {
	out := json.NewEncoder(os.Stdout)
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "--list":
		return out.Encode(slices.Sorted(maps.Keys(implemented())))
	case "--processor":
		return runVictim(os.Stdin, out)
	}
	var contract struct {
		Stages        map[string]told
		KeyPartitions map[string]string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&contract); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(contract.Stages)) {
		if err := out.Encode(play(name, contract.Stages[name], contract.KeyPartitions)); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
