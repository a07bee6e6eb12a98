// The C API of libmicrohttpd, and its calls that take any number of arguments with those that are
// used.
#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>

// NULL: the address cannot be bound; errno says why. With a certificate and its key, both PEM, it
// speaks TLS.
static inline struct MHD_Daemon *op_http_start(
    const struct sockaddr *address, unsigned int connections, unsigned int idle_seconds,
    const char *certificate, const char *key, MHD_AccessHandlerCallback handler,
    MHD_RequestCompletedCallback completed, void *context) {
  // Not select: descriptors above 1,023 are usual here.
  unsigned int flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME;
  if (address->sa_family == AF_INET6) flags |= MHD_USE_IPv6;
  if (certificate == NULL)
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handler, context, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)32768, MHD_OPTION_END);
  return MHD_start_daemon(
      flags | MHD_USE_TLS, 0, NULL, NULL, handler, context, MHD_OPTION_SOCK_ADDR, address,
      MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      (size_t)32768, MHD_OPTION_HTTPS_MEM_CERT, certificate, MHD_OPTION_HTTPS_MEM_KEY, key,
      MHD_OPTION_END);
}

// 0: unknown.
static inline unsigned int op_http_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == NULL ? 0 : info->port;
}
