/* <syslog.h> and base/log.h use the same names for their levels, so this file declares what it
 * needs of syslog itself. */
#include "client/syslog.h"

#include "base/log.h"

void openlog(const char *ident, int option, int facility);
void syslog(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum { OPTION_PID = 1, FACILITY_DAEMON = 3 << 3 };

static void sink(enum log_level level, const char *text)
{
	static const int priority[] = { [LOG_ERROR] = 3, [LOG_WARN] = 4, [LOG_INFO] = 6,
					[LOG_DEBUG] = 7 };

	syslog(priority[level], "%s", text);
}

void syslog_begin(void)
{
	openlog("kiln-mount", OPTION_PID, FACILITY_DAEMON);
	log_sink_set(sink);
}
