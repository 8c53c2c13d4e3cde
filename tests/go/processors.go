package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/checkpoints"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

const patience = 30 * time.Second

var all = []string{"0", "1", "2", "3"}

// processors has the scenarios of processors with the blob checkpoint store.
func processors() map[string]scenario {
	return map[string]scenario{
		"checkpoint_and_resume":           checkpointAndResume,
		"processors_balance_and_one_dies": balanceAndOneDies,
	}
}

// heard is what a processor has come to so far.
type heard struct {
	mu          sync.Mutex
	Owned       map[string]bool    `json:"owned"`
	Sequences   map[string][]int64 `json:"sequences"`
	Checkpoints map[string]int64   `json:"checkpoints"`
	Errors      []string           `json:"errors"`
}

func newHeard() *heard {
	return &heard{
		Owned:       map[string]bool{},
		Sequences:   map[string][]int64{},
		Checkpoints: map[string]int64{},
	}
}

// with reads or changes it alone.
func (h *heard) with(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

// ask gives what a question about it finds.
func ask[T any](h *heard, question func(*heard) T) T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return question(h)
}

func owned(h *heard) []string { return slices.Sorted(maps.Keys(h.Owned)) }

func (h *heard) copied() *heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	made := newHeard()
	maps.Copy(made.Owned, h.Owned)
	maps.Copy(made.Sequences, h.Sequences)
	maps.Copy(made.Checkpoints, h.Checkpoints)
	made.Errors = slices.Clone(h.Errors)
	return made
}

// processor is one that runs. It writes a checkpoint behind each event that `marks` says.
type processor struct {
	*heard
	marks func(*azeventhubs.ReceivedEventData) bool
	stop  context.CancelFunc
	ended sync.WaitGroup
}

func (s *stage) startProcessor(
	marks func(*azeventhubs.ReceivedEventData) bool,
) (*processor, error) {
	consumer, err := s.newConsumer(azeventhubs.DefaultConsumerGroup)
	if err != nil {
		return nil, err
	}
	blobs, err := container.NewClientFromConnectionString(
		s.Store.ConnectionString, s.Store.Container, nil)
	if err != nil {
		return nil, err
	}
	checkpointStore, err := checkpoints.NewBlobStore(blobs, nil)
	if err != nil {
		return nil, err
	}
	inner, err := azeventhubs.NewProcessor(consumer, checkpointStore, &azeventhubs.ProcessorOptions{
		UpdateInterval:              time.Second,
		PartitionExpirationDuration: 8 * time.Second,
		LoadBalancingStrategy:       azeventhubs.ProcessorStrategyGreedy,
		StartPositions:              azeventhubs.StartPositions{Default: earliest},
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	made := &processor{heard: newHeard(), marks: marks, stop: stop}
	made.ended.Go(func() { made.note(inner.Run(ctx)) })
	made.ended.Go(func() {
		for {
			partition := inner.NextPartitionClient(ctx)
			if partition == nil {
				return
			}
			made.ended.Go(func() { made.note(made.process(ctx, partition)) })
		}
	})
	return made, nil
}

// end stops it and waits until it has given its partitions back.
func (p *processor) end() {
	p.stop()
	p.ended.Wait()
}

func (p *processor) note(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		p.with(func() { p.Errors = append(p.Errors, err.Error()) })
	}
}

func (p *processor) process(ctx context.Context, client *azeventhubs.ProcessorPartitionClient) error {
	id := client.PartitionID()
	p.with(func() { p.Owned[id] = true })
	defer func() {
		p.with(func() { delete(p.Owned, id) })
		closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		p.note(client.Close(closing))
	}()
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		events, err := client.ReceiveEvents(limited, 100, nil)
		cancel()
		for _, each := range events {
			p.with(func() { p.Sequences[id] = append(p.Sequences[id], each.SequenceNumber) })
			if !p.marks(each) {
				continue
			}
			if err := client.UpdateCheckpoint(ctx, each, nil); err != nil {
				return err
			}
			p.with(func() { p.Checkpoints[id] = each.SequenceNumber })
		}
		var known *azeventhubs.Error
		if errors.As(err, &known) && known.Code == azeventhubs.ErrorCodeOwnershipLost {
			return nil
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return nil
}

func until(what string, shown func() any, holds func() bool) error {
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			words, err := json.Marshal(shown())
			return errors.Join(fmt.Errorf("waited in vain for %s: %s", what, words), err)
		}
	}
	return nil
}

func never(*azeventhubs.ReceivedEventData) bool { return false }

func always(*azeventhubs.ReceivedEventData) bool { return true }

// checkpointAndResume: the batch in which the checkpoint is written may hold later events. They
// come again.
func checkpointAndResume(ctx context.Context, stage *stage) error {
	for _, each := range texts(10, "event") {
		if err := stage.sendTo(ctx, "1", each); err != nil {
			return err
		}
	}
	first, err := stage.startProcessor(func(each *azeventhubs.ReceivedEventData) bool {
		return string(each.Body) == "event-4"
	})
	if err != nil {
		return err
	}
	err = until("ten events and a checkpoint", func() any { return first.copied() }, func() bool {
		found := first.copied()
		return len(found.Sequences["1"]) == 10 && found.Checkpoints["1"] == 4
	})
	first.end()
	if err != nil {
		return err
	}
	second, err := stage.startProcessor(never)
	if err != nil {
		return err
	}
	err = until("five events", func() any { return second.copied() }, func() bool {
		return len(second.copied().Sequences["1"]) >= 5
	})
	second.end()
	if err != nil {
		return err
	}
	if err := equal(second.Errors, []string(nil)); err != nil {
		return err
	}
	return equal(second.Sequences, map[string][]int64{"1": numbers(5, 10)})
}

// victim is a processor in a process of its own, so that it can be killed the hard way.
type victim struct {
	mu      sync.Mutex
	said    *heard
	command *exec.Cmd
}

func startVictim(told told) (*victim, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	made := &victim{said: newHeard(), command: exec.Command(program, "--processor")}
	made.command.Stderr = os.Stderr
	in, err := made.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := made.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := made.command.Start(); err != nil {
		return nil, err
	}
	go made.listen(json.NewDecoder(out))
	return made, json.NewEncoder(in).Encode(told)
}

func (v *victim) listen(from *json.Decoder) {
	for {
		next := newHeard()
		if from.Decode(next) != nil {
			// It was killed, perhaps in the middle of a line.
			return
		}
		v.mu.Lock()
		v.said = next
		v.mu.Unlock()
	}
}

func (v *victim) heard() *heard {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.said
}

func (v *victim) kill() {
	// Both fail where it has ended before, which is as good.
	_ = v.command.Process.Kill()
	_ = v.command.Wait()
}

// runVictim is the process: it says how far it is until it is killed.
func runVictim(in io.Reader, out *json.Encoder) error {
	var told told
	if err := json.NewDecoder(in).Decode(&told); err != nil {
		return err
	}
	stage, err := newStage(told, nil)
	if err != nil {
		return err
	}
	running, err := stage.startProcessor(always)
	if err != nil {
		return err
	}
	for {
		if err := out.Encode(running.copied()); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func sendEverywhere(ctx context.Context, stage *stage, count int) error {
	for _, partition := range all {
		if err := stage.sendTo(ctx, partition, texts(count, "event")...); err != nil {
			return err
		}
	}
	return nil
}

func balanceAndOneDies(ctx context.Context, stage *stage) error {
	if err := sendEverywhere(ctx, stage, 25); err != nil {
		return err
	}
	survivor, err := stage.startProcessor(always)
	if err != nil {
		return err
	}
	defer survivor.end()
	second, err := startVictim(stage.told)
	if err != nil {
		return err
	}
	defer second.kill()
	shown := func() any { return []any{survivor.copied(), second.heard()} }
	err = until("two partitions each", shown, func() bool {
		ours, theirs := ask(survivor.heard, owned), owned(second.heard())
		both := slices.Sorted(slices.Values(slices.Concat(ours, theirs)))
		return len(ours) == 2 && slices.Equal(both, all)
	})
	if err != nil {
		return err
	}
	if err := sendEverywhere(ctx, stage, 25); err != nil {
		return err
	}
	err = until("checkpoints at 49 everywhere", shown, func() bool {
		ours, theirs := survivor.copied(), second.heard()
		return !slices.ContainsFunc(all, func(at string) bool {
			return max(ours.Checkpoints[at], theirs.Checkpoints[at]) < 49
		})
	})
	if err != nil {
		return err
	}
	orphans := owned(second.heard())
	second.kill()
	before := survivor.copied().Sequences
	if err := sendEverywhere(ctx, stage, 25); err != nil {
		return err
	}
	err = until("the survivor to own and finish everything", shown, func() bool {
		ours := survivor.copied()
		return len(ours.Owned) == 4 && !slices.ContainsFunc(all, func(at string) bool {
			return ours.Checkpoints[at] != 74
		})
	})
	if err != nil {
		return err
	}
	if err := equal(len(orphans), 2); err != nil {
		return err
	}
	after := survivor.copied().Sequences
	for _, at := range all {
		if err := equal(after[at][len(before[at]):], numbers(50, 75)); err != nil {
			return fmt.Errorf("partition %s: %w", at, err)
		}
	}
	return nil
}
