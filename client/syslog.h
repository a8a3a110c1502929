/* Log lines to the system's log, for a process without a terminal. */
#ifndef CLIENT_SYSLOG_H
#define CLIENT_SYSLOG_H

void syslog_begin(void);

#endif
