package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

const hubLimit = 1_048_576

// sending has the scenarios of sending, and of where what was sent arrives.
func sending() map[string]scenario {
	return map[string]scenario{
		"send_one":                          sendOne,
		"send_many":                         sendMany,
		"batch_keeps_its_size_limit":        batchKeepsItsSizeLimit,
		"link_tells_the_size_limit":         linkTellsTheSizeLimit,
		"partition_key_picks_the_partition": keyPicksThePartition,
		"partition_id_picks_the_partition":  idPicksThePartition,
		"large_event":                       largeEvent,
		"content_type_and_ids":              contentTypeAndIDs,
		"application_properties":            applicationProperties,
	}
}

func sendOne(ctx context.Context, stage *stage) error {
	if err := stage.sendTo(ctx, "0", event("hello")); err != nil {
		return err
	}
	events, err := stage.read(ctx, "0", earliest, 1)
	if err != nil {
		return err
	}
	got := events[0]
	if age := time.Since(*got.EnqueuedTime).Abs(); age > time.Minute {
		return fmt.Errorf("it was enqueued at %s", got.EnqueuedTime)
	}
	return equal([]any{string(got.Body), got.SequenceNumber, got.Offset}, []any{"hello", int64(0), "0"})
}

func sendMany(ctx context.Context, stage *stage) error {
	sent := texts(500, "event")
	if err := stage.sendTo(ctx, "1", sent...); err != nil {
		return err
	}
	events, err := stage.read(ctx, "1", earliest, len(sent))
	if err != nil {
		return err
	}
	return equal(bodies(events), textsOf(sent))
}

func batchKeepsItsSizeLimit(ctx context.Context, stage *stage) error {
	batch, err := stage.producer.NewEventDataBatch(ctx,
		&azeventhubs.EventDataBatchOptions{PartitionID: ptr("0"), MaxBytes: 4096})
	if err != nil {
		return err
	}
	var taken []string
	for {
		body := fmt.Sprintf("%0100d", len(taken))
		err := batch.AddEventData(event(body), nil)
		if errors.Is(err, azeventhubs.ErrEventDataTooLarge) {
			break
		}
		if err != nil {
			return err
		}
		taken = append(taken, body)
	}
	if len(taken) <= 20 || len(taken) >= 40 {
		return fmt.Errorf("%d events fitted", len(taken))
	}
	if err := stage.producer.SendEventDataBatch(ctx, batch, nil); err != nil {
		return err
	}
	events, err := stage.read(ctx, "0", earliest, len(taken))
	if err != nil {
		return err
	}
	return equal(bodies(events), taken)
}

// linkTellsTheSizeLimit fills a batch to the hub's limit; the SDK does not tell the limit itself.
func linkTellsTheSizeLimit(ctx context.Context, stage *stage) error {
	batch, err := stage.producer.NewEventDataBatch(ctx, nil)
	if err != nil {
		return err
	}
	tooLarge := event(string(bytes.Repeat([]byte("x"), hubLimit)))
	if err := batch.AddEventData(tooLarge, nil); !errors.Is(err, azeventhubs.ErrEventDataTooLarge) {
		return fmt.Errorf("an event of the hub's limit fitted beside its own frame: %w", err)
	}
	return batch.AddEventData(event(string(bytes.Repeat([]byte("x"), hubLimit-1_000))), nil)
}

func keyPicksThePartition(ctx context.Context, stage *stage) error {
	wanted := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(stage.keyPartitions)) {
		to := azeventhubs.EventDataBatchOptions{PartitionKey: &key}
		if err := stage.send(ctx, to, event(key), event(key)); err != nil {
			return err
		}
		at := stage.keyPartitions[key]
		wanted[at] = append(wanted[at], key, key)
	}
	for partition, keys := range wanted {
		events, err := stage.read(ctx, partition, earliest, len(keys))
		if err != nil {
			return err
		}
		carried := make([]string, len(events))
		for at, each := range events {
			carried[at] = *each.PartitionKey
		}
		if err := errors.Join(equal(bodies(events), keys), equal(carried, keys)); err != nil {
			return err
		}
	}
	return nil
}

func idPicksThePartition(ctx context.Context, stage *stage) error {
	for _, partition := range []string{"0", "1"} {
		if err := stage.sendTo(ctx, partition, event("to "+partition)); err != nil {
			return err
		}
	}
	for _, partition := range []string{"0", "1"} {
		events, err := stage.read(ctx, partition, earliest, 1)
		if err != nil {
			return err
		}
		if err := equal(bodies(events), []string{"to " + partition}); err != nil {
			return err
		}
	}
	return nil
}

func largeEvent(ctx context.Context, stage *stage) error {
	body := make([]byte, 900_000)
	for at := range body {
		body[at] = byte(at % 251)
	}
	if err := stage.sendTo(ctx, "0", &azeventhubs.EventData{Body: body}); err != nil {
		return err
	}
	events, err := stage.read(ctx, "0", earliest, 1)
	if err != nil {
		return err
	}
	if !bytes.Equal(events[0].Body, body) {
		return errors.New("the body differs from what was sent")
	}
	return nil
}

func contentTypeAndIDs(ctx context.Context, stage *stage) error {
	sent := event("{}")
	sent.ContentType, sent.MessageID = ptr("application/json"), ptr("message-1")
	sent.CorrelationID = "correlation-1"
	if err := stage.sendTo(ctx, "0", sent); err != nil {
		return err
	}
	events, err := stage.read(ctx, "0", earliest, 1)
	if err != nil {
		return err
	}
	got := events[0]
	return equal(
		[]any{*got.ContentType, *got.MessageID, got.CorrelationID},
		[]any{"application/json", "message-1", "correlation-1"})
}

func applicationProperties(ctx context.Context, stage *stage) error {
	sent := event("x")
	sent.Properties = map[string]any{
		"text": "Küche", "whole": int64(1) << 40, "small": int32(-7), "real": 21.5, "yes": true,
	}
	if err := stage.sendTo(ctx, "0", sent); err != nil {
		return err
	}
	events, err := stage.read(ctx, "0", earliest, 1)
	if err != nil {
		return err
	}
	return equal(events[0].Properties, sent.Properties)
}
