#include "holdfastd.h"

static size_t channel_count;

void *channel_open(struct connection *c, uint32_t id, size_t size, const struct channel_type *type) {
  bool full = channel_count >= CHANNELS_MAX;
  struct channel *channel = full ? NULL : calloc(1, size);
  if (!channel) {
    send_failed(c, id, full ? EAGAIN : ENOMEM, "cannot open a channel");
    return NULL;
  }
  struct channel *first = c->channels ? c->channels : channel;
  *channel = (struct channel){.connection = c, .type = type, .id = id, .next = first, .previous = c->channels ? first->previous : channel};
  channel->previous->next = first->previous = channel;
  c->channels = first;
  c->channel_count++;
  channel_count++;
  connection_wake(c);
  return channel;
}

struct channel *channel_find(const struct connection *c, uint32_t id) {
  struct channel *channel = c->channels;
  for (size_t i = 0; i < c->channel_count; i++, channel = channel->next)
    if (channel->id == id) return channel;
  return NULL;
}

void channel_close(struct channel *channel) {
  struct connection *c = channel->connection;
  if (!c) return;
  channel->previous->next = channel->next;
  channel->next->previous = channel->previous;
  if (c->channels == channel) c->channels = channel->next == channel ? NULL : channel->next;
  c->channel_count--;
  channel_count--;
  channel->connection = NULL;
}

size_t channel_room(const struct channel *channel) {
  if (buffer_length(&channel->connection->out) >= WAITING_MAX) return 0;
  return channel->credit < OUTPUT_MAX ? (size_t)channel->credit : OUTPUT_MAX;
}

void channel_output(struct channel *channel, uint8_t stream, const void *bytes, size_t length) {
  if (bytes == scratch) {
    send_scratch(channel->connection, channel->id, stream, length);
  } else {
    send_frame(channel->connection, OUTPUT, channel->id, "1b", stream, bytes, length);
  }
  channel->credit -= length;
}

void channel_opened(struct channel *channel, uint32_t input_credit, uint64_t offset, int error, const char *what) {
  if (error) {
    channel_end(channel, error, what);
    return;
  }
  send_frame(channel->connection, OPENED, channel->id, "48", input_credit, offset);
  channel->granted = input_credit;
}

void channel_grant(struct channel *channel, size_t length) {
  send_frame(channel->connection, INPUT_CREDIT, channel->id, "4", (uint32_t)length);
  channel->granted += (uint32_t)length;
}

void channel_end(struct channel *channel, int error, const char *what) {
  send_end(channel->connection, channel->id, error, what);
  channel_close(channel);
  channel->type->drop(channel);
}
