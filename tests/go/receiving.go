package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// receiving has the scenarios of groups and of owner levels.
func receiving() map[string]scenario {
	return map[string]scenario{
		"groups_are_independent":               groupsAreIndependent,
		"higher_owner_level_steals":            steals(3, 7),
		"equal_owner_level_steals":             steals(3, 3),
		"lower_owner_level_is_refused":         staysRefused(ptr(int64(3))),
		"no_owner_level_is_refused_beside_one": staysRefused(nil),
	}
}

func groupsAreIndependent(ctx context.Context, stage *stage) error {
	sent := texts(20, "event")
	if err := stage.sendTo(ctx, "0", sent...); err != nil {
		return err
	}
	for _, group := range []string{azeventhubs.DefaultConsumerGroup, "audit"} {
		reader, err := stage.readerOf(group, "0",
			azeventhubs.PartitionClientOptions{StartPosition: earliest})
		if err != nil {
			return err
		}
		events, err := take(ctx, reader, len(sent))
		if err != nil {
			return err
		}
		if err := equal(bodies(events), textsOf(sent)); err != nil {
			return fmt.Errorf("group %s: %w", group, err)
		}
	}
	return nil
}

// opened gives a reader of a level, or of none, that has its place at the hub.
func opened(ctx context.Context, stage *stage, level *int64) (*azeventhubs.PartitionClient, error) {
	reader, err := stage.reader("0",
		azeventhubs.PartitionClientOptions{StartPosition: earliest, OwnerLevel: level})
	if err != nil {
		return nil, err
	}
	_, err = receive(ctx, reader, 1, 20*time.Second)
	return reader, err
}

// lost checks that a reader hears, within a while, that it has lost its partition.
func lost(ctx context.Context, reader *azeventhubs.PartitionClient) error {
	_, err := receive(ctx, reader, 1, 20*time.Second)
	var known *azeventhubs.Error
	if !errors.As(err, &known) || known.Code != azeventhubs.ErrorCodeOwnershipLost {
		return fmt.Errorf("the partition was not lost: %w", err)
	}
	return nil
}

func steals(first, second int64) scenario {
	return func(ctx context.Context, stage *stage) error {
		if err := stage.sendTo(ctx, "0", event("one")); err != nil {
			return err
		}
		owner, err := opened(ctx, stage, &first)
		if err != nil {
			return err
		}
		if _, err := opened(ctx, stage, &second); err != nil {
			return fmt.Errorf("the thief: %w", err)
		}
		return lost(ctx, owner)
	}
}

func staysRefused(level *int64) scenario {
	return func(ctx context.Context, stage *stage) error {
		if err := stage.sendTo(ctx, "0", event("one")); err != nil {
			return err
		}
		owner, err := opened(ctx, stage, ptr(int64(7)))
		if err != nil {
			return err
		}
		late, err := stage.reader("0",
			azeventhubs.PartitionClientOptions{StartPosition: earliest, OwnerLevel: level})
		if err != nil {
			return err
		}
		// The SDK has no code of its own for a partition that it never got.
		_, err = receive(ctx, late, 1, 20*time.Second)
		if err := errors.Join(refused(err, "amqp:link:stolen"), refused(err, "'7'")); err != nil {
			return err
		}
		if err := stage.sendTo(ctx, "0", event("two")); err != nil {
			return err
		}
		events, err := receive(ctx, owner, 1, 20*time.Second)
		if err != nil {
			return fmt.Errorf("the owner: %w", err)
		}
		return equal(bodies(events), []string{"two"})
	}
}
