package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// positions has the scenarios of where a reader starts.
func positions() map[string]scenario {
	return map[string]scenario{
		"start_at_earliest": startsAt(0, func([]*azeventhubs.ReceivedEventData) azeventhubs.StartPosition {
			return earliest
		}),
		"start_after_offset": startsAt(7, func(events []*azeventhubs.ReceivedEventData) azeventhubs.StartPosition {
			return azeventhubs.StartPosition{Offset: &events[6].Offset}
		}),
		"start_at_offset": startsAt(6, func(events []*azeventhubs.ReceivedEventData) azeventhubs.StartPosition {
			return azeventhubs.StartPosition{Offset: &events[6].Offset, Inclusive: true}
		}),
		"start_after_sequence_number": startsAt(4, func([]*azeventhubs.ReceivedEventData) azeventhubs.StartPosition {
			return azeventhubs.StartPosition{SequenceNumber: ptr(int64(3))}
		}),
		"start_at_sequence_number": startsAt(3, func([]*azeventhubs.ReceivedEventData) azeventhubs.StartPosition {
			return azeventhubs.StartPosition{SequenceNumber: ptr(int64(3)), Inclusive: true}
		}),
		"start_at_latest":                           startAtLatest,
		"start_at_enqueued_time":                    startAtEnqueuedTime,
		"offset_beyond_the_end_is_refused":          offsetBeyondTheEnd,
		"sequence_number_beyond_the_end_is_refused": sequenceBeyondTheEnd,
	}
}

// tenEvents puts ten events into partition 0, in ten calls, and gives them as the hub stamped them.
func tenEvents(ctx context.Context, stage *stage) ([]*azeventhubs.ReceivedEventData, error) {
	for _, each := range texts(10, "event") {
		if err := stage.sendTo(ctx, "0", each); err != nil {
			return nil, err
		}
	}
	return stage.read(ctx, "0", earliest, 10)
}

func startsAt(
	first int64, position func([]*azeventhubs.ReceivedEventData) azeventhubs.StartPosition,
) scenario {
	return func(ctx context.Context, stage *stage) error {
		events, err := tenEvents(ctx, stage)
		if err != nil {
			return err
		}
		got, err := stage.read(ctx, "0", position(events), int(10-first))
		if err != nil {
			return err
		}
		return equal(sequences(got), numbers(first, 10))
	}
}

// startAtLatest sends until an event arrives: nobody can see when a reader has attached.
func startAtLatest(ctx context.Context, stage *stage) error {
	if err := stage.sendTo(ctx, "0", texts(10, "old")...); err != nil {
		return err
	}
	reader, err := stage.reader("0", azeventhubs.PartitionClientOptions{
		StartPosition: azeventhubs.StartPosition{Latest: ptr(true)},
	})
	if err != nil {
		return err
	}
	for range 200 {
		if err := stage.sendTo(ctx, "0", event("new")); err != nil {
			return err
		}
		events, err := receive(ctx, reader, 1, 100*time.Millisecond)
		if err == nil {
			return equal(string(events[0].Body), "new")
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return errors.New("no event came")
}

// startAtEnqueuedTime allows for events before the seventh that share its millisecond.
func startAtEnqueuedTime(ctx context.Context, stage *stage) error {
	events, err := tenEvents(ctx, stage)
	if err != nil {
		return err
	}
	at := *events[6].EnqueuedTime
	first := slices.IndexFunc(events, func(each *azeventhubs.ReceivedEventData) bool {
		return each.EnqueuedTime.Equal(at)
	})
	from := azeventhubs.StartPosition{EnqueuedTime: &at, Inclusive: true}
	got, err := stage.read(ctx, "0", from, 10-first)
	if err != nil {
		return err
	}
	return equal(sequences(got), numbers(int64(first), 10))
}

func beyondTheEnd(ctx context.Context, stage *stage, from azeventhubs.StartPosition, words string) error {
	if _, err := tenEvents(ctx, stage); err != nil {
		return err
	}
	_, err := stage.read(ctx, "0", from, 1)
	return errors.Join(refused(err, "com.microsoft:argument-error"), refused(err, words))
}

func offsetBeyondTheEnd(ctx context.Context, stage *stage) error {
	return beyondTheEnd(ctx, stage, azeventhubs.StartPosition{Offset: ptr("99999999")},
		"The supplied offset '99999999' is invalid")
}

func sequenceBeyondTheEnd(ctx context.Context, stage *stage) error {
	return beyondTheEnd(ctx, stage, azeventhubs.StartPosition{SequenceNumber: ptr(int64(5000))},
		fmt.Sprintf("The supplied sequence number '%d' is invalid", 5000))
}
