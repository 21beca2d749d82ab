#include "holdfastd.h"

size_t buffer_length(const struct buffer *buffer) { return buffer->end - buffer->start; }

uint8_t *buffer_room(struct buffer *buffer, size_t length) {
  size_t used = buffer_length(buffer);
  if (buffer->size - buffer->end >= length && buffer->data) return buffer->data + buffer->end;
  if (buffer->start) {
    memmove(buffer->data, buffer->data + buffer->start, used);
    buffer->start = 0;
    buffer->end = used;
  }
  if (buffer->size - used < length || !buffer->data) {
    size_t size = used + length;
    /* Half as much again, so that many small additions do not copy the whole each time. */
    if (buffer->data && size < buffer->size + buffer->size / 2) size = buffer->size + buffer->size / 2;
    uint8_t *data = realloc(buffer->data, size);
    if (!data) {
      buffer->failed = true;
      return NULL;
    }
    buffer->data = data;
    buffer->size = size;
  }
  return buffer->data + buffer->end;
}

void buffer_add(struct buffer *buffer, const void *data, size_t length) {
  if (!length || buffer->failed) return;
  uint8_t *room = buffer_room(buffer, length);
  if (!room) return;
  memcpy(room, data, length);
  buffer->end += length;
}

void buffer_drop(struct buffer *buffer, size_t length) {
  buffer->start += length;
  if (buffer->start < buffer->end) return;
  free(buffer->data);
  *buffer = (struct buffer){.failed = buffer->failed};
}

static uint64_t number_at(const uint8_t *at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; i++) value |= (uint64_t)at[i] << 8 * i;
  return value;
}

void buffer_clear(struct buffer *buffer) { buffer_drop(buffer, buffer_length(buffer)); }

enum frame_state frame_first(struct buffer *buffer, size_t max, struct frame *frame) {
  frame->length = 4;
  if (buffer_length(buffer) < 4) return FRAME_PART;
  uint8_t *at = buffer->data + buffer->start;
  size_t length = number_at(at, 4);
  if (length < 5 || length > max) return FRAME_BAD;
  frame->length = length + 4;
  if (buffer_length(buffer) < frame->length) return FRAME_PART;
  frame->type = at[4];
  frame->channel = (uint32_t)number_at(at + 5, 4);
  frame->payload = (struct payload){at + 9, at + frame->length};
  return FRAME_WHOLE;
}

static uint8_t *take_bytes(struct payload *r, size_t length) {
  if ((size_t)(r->end - r->at) < length) return NULL;
  r->at += length;
  return r->at - length;
}

static bool take_number(struct payload *r, size_t size, uint64_t *value) {
  const uint8_t *at = take_bytes(r, size);
  *value = at ? number_at(at, size) : 0;
  return at;
}

/* Moves the text one byte forward, onto the end of its own length, to make room for the zero behind it. */
static const char *take_text(struct payload *r) {
  uint64_t length;
  uint8_t *bytes = take_number(r, 4, &length) ? take_bytes(r, length) : NULL;
  if (!bytes || memchr(bytes, 0, length)) return NULL;
  memmove(bytes - 1, bytes, length);
  bytes[(ptrdiff_t)length - 1] = 0;
  return (const char *)bytes - 1;
}

static bool take_list(struct payload *r, char ***list) {
  uint64_t count;
  if (!take_number(r, 4, &count) || count > (size_t)(r->end - r->at) / 4) return false;
  *list = calloc(count + 1, sizeof **list);
  for (size_t i = 0; *list && i < count; i++)
    if (!((*list)[i] = (char *)take_text(r))) return false;
  return *list;
}

bool take(struct payload r, const char *format, struct fields *fields) {
  uint64_t *number = fields->n;
  const char **text = fields->t;
  char ***list = fields->l;
  bool good = true;
  for (; *format && good; format++) {
    if (*format == 't' || *format == 'p' || *format == 'o') {
      good = (*text = take_text(&r)) && (*format == 't' || **text == '/' || (*format == 'o' && !**text));
      text++;
    } else if (*format == 'l') {
      good = take_list(&r, list++);
    } else if (*format == 'm' || *format == 'b') {
      fields->length = *format == 'm' ? 32 : (size_t)(r.end - r.at);
      good = (fields->bytes = take_bytes(&r, fields->length));
    } else {
      good = take_number(&r, (size_t)(*format - '0'), number++);
    }
  }
  return good && r.at == r.end;
}

static void put_number(struct buffer *out, uint64_t value, size_t size) {
  uint8_t little[8];
  for (size_t i = 0; i < size; i++) little[i] = (uint8_t)(value >> 8 * i);
  buffer_add(out, little, size);
}

static void put_values(struct buffer *out, const char *format, va_list values) {
  for (; *format; format++) {
    if (*format == 't' || *format == 's' || *format == 'b') {
      const char *bytes = va_arg(values, const char *);
      size_t length = *format == 't' ? strlen(bytes) : va_arg(values, size_t);
      if (*format != 'b') put_number(out, length, 4);
      buffer_add(out, bytes, length);
    } else {
      put_number(out, *format == '8' ? va_arg(values, uint64_t) : va_arg(values, unsigned), (size_t)(*format - '0'));
    }
  }
}

void put(struct buffer *out, const char *format, ...) {
  va_list values;
  va_start(values, format);
  put_values(out, format, values);
  va_end(values);
}

void put_frame(struct buffer *out, uint8_t type, uint32_t channel, const char *format, va_list values) {
  size_t before = buffer_length(out);
  put(out, "414", 0, type, channel);
  put_values(out, format, values);
  size_t length = buffer_length(out) - before - 4;
  for (int i = 0; i < 4 && !out->failed; i++) out->data[out->start + before + i] = (uint8_t)(length >> 8 * i);
}
