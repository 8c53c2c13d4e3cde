package main

import (
	"context"
	"errors"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// refusals has the scenarios of what is not there, and of who is not let in.
func refusals() map[string]scenario {
	return map[string]scenario{
		"unknown_hub_is_refused":          unknownHub,
		"unknown_group_is_refused":        unknownGroup,
		"unknown_partition_is_refused":    unknownPartition,
		"bad_key_is_refused":              badKey,
		"an_unknown_authority_is_refused": unknownAuthority,
	}
}

func unknownHub(ctx context.Context, stage *stage) error {
	producer, err := stage.newProducer("nowhere")
	if err != nil {
		return err
	}
	_, err = producer.NewEventDataBatch(ctx, nil)
	// The token for it is refused before a link is attached, and the client words it like this.
	return refused(err, "status code 404")
}

func unknownGroup(ctx context.Context, stage *stage) error {
	reader, err := stage.readerOf("nobody", "0",
		azeventhubs.PartitionClientOptions{StartPosition: earliest})
	if err != nil {
		return err
	}
	_, err = reader.ReceiveEvents(ctx, 1, nil)
	return refused(err, "not-found")
}

func unknownPartition(ctx context.Context, stage *stage) error {
	_, err := stage.read(ctx, "17", earliest, 1)
	return refused(err, "argument-out-of-range")
}

func badKey(ctx context.Context, stage *stage) error {
	if err := stage.sendTo(ctx, "0", event("let in")); err != nil {
		return err
	}
	stage.ConnectionString = strings.Replace(stage.ConnectionString, "SharedAccessKey=", "SharedAccessKey=x", 1)
	producer, err := stage.newProducer(stage.Hub)
	if err != nil {
		return err
	}
	_, err = producer.NewEventDataBatch(ctx, nil)
	var known *azeventhubs.Error
	if !errors.As(err, &known) || known.Code != azeventhubs.ErrorCodeUnauthorizedAccess {
		return refused(err, "unauthorized")
	}
	return nil
}

// unknownAuthority takes the hub's authority away from the client.
func unknownAuthority(ctx context.Context, stage *stage) error {
	if err := stage.sendTo(ctx, "0", event("let in")); err != nil {
		return err
	}
	stage.tls.RootCAs = nil
	producer, err := stage.newProducer(stage.Hub)
	if err != nil {
		return err
	}
	_, err = producer.NewEventDataBatch(ctx, nil)
	return refused(err, "certificate signed by unknown authority")
}
