package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/coder/websocket"
)

// told is what the tests say of a stage.
type told struct {
	Scenario         string `json:"scenario"`
	ConnectionString string `json:"connectionString"`
	Hub              string `json:"hub"`
	// Authority is a file of certificates, where the hub is reached with TLS.
	Authority  string `json:"authority"`
	WebSockets bool   `json:"webSockets"`
	Store      *store `json:"store"`
}

// store is a container of blobs.
type store struct {
	ConnectionString string `json:"connectionString"`
	Container        string `json:"container"`
}

// stage is what a scenario is given: a hub of its own, a producer, and consumers on demand.
type stage struct {
	told
	keyPartitions map[string]string
	tls           *tls.Config
	producer      *azeventhubs.ProducerClient
	closers       []func(context.Context) error
}

func newStage(told told, keys map[string]string) (*stage, error) {
	made := &stage{told: told, keyPartitions: keys}
	if told.Authority != "" {
		pem, err := os.ReadFile(told.Authority)
		if err != nil {
			return nil, err
		}
		// Without a name the SDK takes the port of the connection string for a part of it.
		made.tls = &tls.Config{
			RootCAs: x509.NewCertPool(), ServerName: "localhost", MinVersion: tls.VersionTLS12,
		}
		if !made.tls.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", told.Authority)
		}
	}
	producer, err := made.newProducer(told.Hub)
	made.producer = producer
	return made, err
}

func (s *stage) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, each := range s.closers {
		if err := each(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "while closing:", err)
		}
	}
}

// once has the SDK retry nothing, so that the first error that the hub gives is the one that is seen.
var once = azeventhubs.RetryOptions{MaxRetries: -1}

// dial gives the function that opens a WebSocket, or nil where AMQP is carried by TCP.
func (s *stage) dial() func(context.Context, azeventhubs.WebSocketConnParams) (net.Conn, error) {
	if !s.WebSockets {
		return nil
	}
	return func(ctx context.Context, to azeventhubs.WebSocketConnParams) (net.Conn, error) {
		address := to.Host
		options := &websocket.DialOptions{Subprotocols: []string{"amqp"}}
		if s.tls == nil {
			address = strings.Replace(address, "wss://", "ws://", 1)
		} else {
			options.HTTPClient = &http.Client{Transport: &http.Transport{TLSClientConfig: s.tls}}
		}
		opened, _, err := websocket.Dial(ctx, address, options)
		if err != nil {
			return nil, err
		}
		// The connection outlives the call that has opened it.
		return websocket.NetConn(context.Background(), opened, websocket.MessageBinary), nil
	}
}

func (s *stage) newProducer(hub string) (*azeventhubs.ProducerClient, error) {
	made, err := azeventhubs.NewProducerClientFromConnectionString(s.ConnectionString, hub,
		&azeventhubs.ProducerClientOptions{
			TLSConfig: s.tls, NewWebSocketConn: s.dial(), RetryOptions: once,
		})
	if err == nil {
		s.closers = append(s.closers, made.Close)
	}
	return made, err
}

func (s *stage) newConsumer(group string) (*azeventhubs.ConsumerClient, error) {
	made, err := azeventhubs.NewConsumerClientFromConnectionString(s.ConnectionString, s.Hub, group,
		&azeventhubs.ConsumerClientOptions{
			TLSConfig: s.tls, NewWebSocketConn: s.dial(), RetryOptions: once,
		})
	if err == nil {
		s.closers = append(s.closers, made.Close)
	}
	return made, err
}

// reader reads one partition with a client of its own, as owner levels are about clients.
func (s *stage) reader(
	partition string, options azeventhubs.PartitionClientOptions,
) (*azeventhubs.PartitionClient, error) {
	return s.readerOf(azeventhubs.DefaultConsumerGroup, partition, options)
}

func (s *stage) readerOf(
	group, partition string, options azeventhubs.PartitionClientOptions,
) (*azeventhubs.PartitionClient, error) {
	consumer, err := s.newConsumer(group)
	if err != nil {
		return nil, err
	}
	made, err := consumer.NewPartitionClient(partition, &options)
	if err == nil {
		s.closers = append([]func(context.Context) error{made.Close}, s.closers...)
	}
	return made, err
}

// read gives so many events of a partition from a position on.
func (s *stage) read(
	ctx context.Context, partition string, from azeventhubs.StartPosition, count int,
) ([]*azeventhubs.ReceivedEventData, error) {
	reader, err := s.reader(partition, azeventhubs.PartitionClientOptions{StartPosition: from})
	if err != nil {
		return nil, err
	}
	return take(ctx, reader, count)
}

// take gives so many events, and fails where one more comes.
func take(
	ctx context.Context, reader *azeventhubs.PartitionClient, count int,
) ([]*azeventhubs.ReceivedEventData, error) {
	var events []*azeventhubs.ReceivedEventData
	for len(events) < count {
		some, err := receive(ctx, reader, count-len(events), 30*time.Second)
		if err != nil {
			return nil, fmt.Errorf("after %d of %d events: %w", len(events), count, err)
		}
		events = append(events, some...)
	}
	more, err := receive(ctx, reader, 1, 200*time.Millisecond)
	if err == nil {
		return nil, fmt.Errorf("one more event came: %q", more[0].Body)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return events, nil
}

func receive(
	ctx context.Context, reader *azeventhubs.PartitionClient, count int, limit time.Duration,
) ([]*azeventhubs.ReceivedEventData, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	events, err := reader.ReceiveEvents(limited, count, nil)
	if len(events) > 0 {
		return events, nil
	}
	return nil, err
}

// send sends events in one batch.
func (s *stage) send(
	ctx context.Context, to azeventhubs.EventDataBatchOptions, events ...*azeventhubs.EventData,
) error {
	batch, err := s.producer.NewEventDataBatch(ctx, &to)
	if err != nil {
		return err
	}
	for _, event := range events {
		if err := batch.AddEventData(event, nil); err != nil {
			return err
		}
	}
	return s.producer.SendEventDataBatch(ctx, batch, nil)
}

func (s *stage) sendTo(ctx context.Context, partition string, events ...*azeventhubs.EventData) error {
	return s.send(ctx, azeventhubs.EventDataBatchOptions{PartitionID: &partition}, events...)
}

func texts(count int, word string) []*azeventhubs.EventData {
	made := make([]*azeventhubs.EventData, count)
	for number := range made {
		made[number] = event(fmt.Sprintf("%s-%d", word, number))
	}
	return made
}

func event(body string) *azeventhubs.EventData {
	return &azeventhubs.EventData{Body: []byte(body)}
}

func bodies(events []*azeventhubs.ReceivedEventData) []string {
	found := make([]string, len(events))
	for at, each := range events {
		found[at] = string(each.Body)
	}
	return found
}

func sequences(events []*azeventhubs.ReceivedEventData) []int64 {
	found := make([]int64, len(events))
	for at, each := range events {
		found[at] = each.SequenceNumber
	}
	return found
}

// numbers gives the numbers from the first to below the end.
func numbers(first, end int64) []int64 {
	made := make([]int64, 0, end-first)
	for number := first; number < end; number++ {
		made = append(made, number)
	}
	return made
}

func textsOf(events []*azeventhubs.EventData) []string {
	found := make([]string, len(events))
	for at, each := range events {
		found[at] = string(each.Body)
	}
	return found
}

func equal(found, wanted any) error {
	if !reflect.DeepEqual(found, wanted) {
		return fmt.Errorf("found %v, wanted %v", found, wanted)
	}
	return nil
}

// refused checks that there is an error, and that it says these words.
func refused(err error, words string) error {
	if err == nil {
		return fmt.Errorf("nothing was refused, wanted %q", words)
	}
	if !strings.Contains(err.Error(), words) {
		return fmt.Errorf("refused, but not with %q: %w", words, err)
	}
	return nil
}

var earliest = azeventhubs.StartPosition{Earliest: ptr(true)}

func ptr[T any](value T) *T { return &value }
