/* Sending and receiving one message, with or without a descriptor. */
#include "mount/message.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

typedef union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
} control;

bool message_send(int socket, const message *m, int fd)
{
    size_t len = offsetof(message, text) + strnlen(m->text, sizeof m->text - 1) + 1;
    struct iovec data = {(void *)m, len};
    control c = {0};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        header.msg_control = &c;
        header.msg_controllen = sizeof c;
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(cmsg), &fd, sizeof fd);
    }
    ssize_t n;
    while ((n = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR)
        continue;
    return n == (ssize_t)len;
}

static int descriptor_of(struct msghdr *header)
{
    int fd = -1;
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(header);
    if (cmsg != NULL && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS &&
        cmsg->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(cmsg), sizeof fd);
    return fd;
}

message_result message_receive(int socket, message *m, int *fd, bool wait)
{
    memset(m, 0, sizeof *m);
    struct iovec data = {m, sizeof *m};
    control c = {0};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd != NULL) {
        header.msg_control = &c;
        header.msg_controllen = sizeof c;
        *fd = -1;
    }
    ssize_t n;
    do {
        n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return MESSAGE_NONE;
    if (fd != NULL && n > 0)
        *fd = descriptor_of(&header);
    if (n < (ssize_t)offsetof(message, text))
        return MESSAGE_END;
    m->text[sizeof m->text - 1] = '\0';
    return MESSAGE_CAME;
}
