/* The conversation of supervisor and worker, over a pair of SOCK_SEQPACKET sockets.
 *
 *     worker                       supervisor
 *     MESSAGE_SHARD no, count  ->
 *                              <-  MESSAGE_SHARD and a descriptor, or a sentence why not
 *     MESSAGE_REFUSED          ->  (the end)
 *     MESSAGE_PARSED           ->
 *                              <-  MESSAGE_DEVICE and the descriptor of /dev/fuse
 *     MESSAGE_READY            ->
 *
 * The supervisor trusts nothing in a message: it takes no descriptor, and no path. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MESSAGE_TEXT = 4096 };

typedef enum {
    MESSAGE_REFUSED = 1,
    MESSAGE_PARSED,
    MESSAGE_SHARD,
    MESSAGE_READY,
    MESSAGE_DEVICE,
} message_kind;

typedef struct {
    uint32_t kind;
    uint32_t number; /* of a shard; in the answer 0, or 1 for a sentence why not; the exit status of
                        MESSAGE_REFUSED */
    uint32_t count;  /* of shards */
    char text[MESSAGE_TEXT]; /* NUL-terminated */
} message;

/* fd travels along; -1: none. Never waits. false when the other side is gone, or takes nothing. */
bool message_send(int socket, const message *m, int fd);

typedef enum { MESSAGE_CAME, MESSAGE_NONE, MESSAGE_END } message_result;

/* Waits when `wait`. fd NULL: descriptors that come along are thrown away; else the caller owns
 * what is there, or -1. MESSAGE_END also for what is no message. */
message_result message_receive(int socket, message *m, int *fd, bool wait);
