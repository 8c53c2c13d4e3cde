package main

import (
	"context"
	"fmt"
	"time"
)

// facts has the scenarios of what the hub tells about itself.
func facts() map[string]scenario {
	return map[string]scenario{
		"hub_properties":                   hubProperties,
		"partition_ids":                    partitionIDs,
		"properties_of_an_empty_partition": propertiesOfAnEmptyPartition,
		"properties_of_a_partition":        propertiesOfAPartition,
	}
}

func hubProperties(ctx context.Context, stage *stage) error {
	told, err := stage.producer.GetEventHubProperties(ctx, nil)
	if err != nil {
		return err
	}
	if age := time.Since(told.CreatedOn); age < 0 || age > time.Hour {
		return fmt.Errorf("it was made at %s", told.CreatedOn)
	}
	return equal([]any{told.Name, told.PartitionIDs}, []any{stage.Hub, []string{"0", "1"}})
}

func partitionIDs(ctx context.Context, stage *stage) error {
	told, err := stage.producer.GetEventHubProperties(ctx, nil)
	if err != nil {
		return err
	}
	wanted := make([]string, 12)
	for number := range wanted {
		wanted[number] = fmt.Sprint(number)
	}
	return equal(told.PartitionIDs, wanted)
}

func propertiesOfAnEmptyPartition(ctx context.Context, stage *stage) error {
	if err := stage.sendTo(ctx, "1", texts(1, "event")...); err != nil {
		return err
	}
	told, err := stage.producer.GetPartitionProperties(ctx, "0", nil)
	if err != nil {
		return err
	}
	return equal(
		[]any{told.EventHubName, told.PartitionID, told.IsEmpty, told.LastEnqueuedSequenceNumber, told.LastEnqueuedOffset},
		[]any{stage.Hub, "0", true, int64(-1), "-1"})
}

func propertiesOfAPartition(ctx context.Context, stage *stage) error {
	if err := stage.sendTo(ctx, "1", texts(15, "event")...); err != nil {
		return err
	}
	told, err := stage.producer.GetPartitionProperties(ctx, "1", nil)
	if err != nil {
		return err
	}
	events, err := stage.read(ctx, "1", earliest, 15)
	if err != nil {
		return err
	}
	last := events[14]
	return equal(
		[]any{told.IsEmpty, told.BeginningSequenceNumber, told.LastEnqueuedSequenceNumber,
			told.LastEnqueuedOffset, told.LastEnqueuedOn.UnixMilli()},
		[]any{false, int64(0), int64(14), last.Offset, last.EnqueuedTime.UnixMilli()})
}
