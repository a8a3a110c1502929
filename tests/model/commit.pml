/* A model of how kiln makes changes durable and of what readers may see meanwhile.  Read it side by
 * side with the C code: processes, variables and steps carry the names they have there.
 *
 *   here                             there
 *   committer (there: run,           store/commit.c: the committer's thread, one round
 *   sleep_until_due), one_round,
 *   sync_all, sync_store, ...
 *   commit_applied, commit_wait,     store/commit.c: called by everybody else
 *   settled, commit_quiesce
 *   kv_apply, kv_sync                store/kv.c: a batch is in the journal, then gets its number
 *   sync_with_view, durable_view     store/commit.c, store/durable.c: the view of a round, published
 *                                    after its sync
 *   here, lately, gather             store/gather.c, store/commit.c: the adaptive wait
 *   op_writer                        server/role.c: role_submit, change_run, group_close,
 *                                    is_unsure, done_finish, parking, on a volume with durability `op`
 *                                    (V); groups of one change
 *   fsync_writer                     a change on a volume with durability `fsync` (F), then an
 *                                    fsync of a data file (read_try, parking), or the lazy waiter of a
 *                                    change that drops one (trash_queue in server/volume.c)
 *   op_reader                        server/read.c: a read of names or attributes on V
 *   durable_reads                    server/volume.c: V is loaded while the store is in use (-DLOAD)
 *   power_cut                        the crash: at any step, any prefix of the journal survives
 *
 * The journal: positions 1..journal in the order of appending; `synced` of them are on the device
 * for certain.  V holds one name, which its changes create and unlink in turn, so that the state of
 * V at a journal position is the number of its changes up to there (v_at) and the name exists if
 * that is odd.  Waiters are bits: 0 and 1 the op writers, 2 the fsync, 3 the lazy one.  A step that
 * reads or writes an atomic field of the C code is a step of its own; what happens under the lock
 * and touches nothing else is one.
 *
 * What is asserted:
 *   A1  no durable answer before its sync          answer_durable, after_power_cut
 *   A2  no read shows what a crash can take back   shows, after_power_cut (an `op` volume; a
 *                                                  change that fails shows something too)
 *   A3  no read misses what was told before        shows
 *   A4  a crash leaves a prefix of every volume    after_power_cut
 *   A5  no lost wake-up                            rested; no invalid end state
 *   A6  every waiter is called once; after a       done, answer_durable, rested, commit_quiesce
 *       failed sync with an error
 *   A7  nobody waits for a lone writer             gather
 *   A8  all is committed though nobody waits       commit_quiesce
 *   A9  what was durable is never called an error  done
 *   A10 a store that has failed takes no change    kv_apply
 *
 * -DM_xxx breaks one step; `tests/model/run mutations` shows that each is found.
 * The bounds are the macros below; tests/model/run has those in use. */

#ifndef REQS
#define REQS 1 /* changes of each op writer */
#endif
#ifndef READS
#define READS 1
#endif
#ifndef OP_WRITERS
#define OP_WRITERS 2
#endif
#ifndef FSYNC
#define FSYNC 1 /* with the fsync writer and its lazy waiter */
#endif
#ifndef STOP_EARLY
#define STOP_EARLY 0 /* commit_quiesce at any time, not only when all is over */
#endif
#ifndef INTERVAL
#define INTERVAL 0 /* commit_interval may be over at any time; else never, so it rescues nobody */
#endif
#ifndef NO_MEMORY
#define NO_MEMORY 0 /* a view may fail to be taken */
#endif
#ifndef LONE
#define LONE 0 /* one op writer took part in the rounds before, not all */
#endif
#ifndef CUT
#define CUT 0 /* a power cut at any step, not only where something new is claimed */
#endif
#ifndef LOAD
#define LOAD 0 /* V is loaded while the rest runs: the first view is yet to be taken */
#endif
#define JOURNAL_MAX 5 /* OP_WRITERS * REQS + FSYNC + 1 at most */

/* Error codes; what durable_done gets. */
#define EIO 1
#define EBADSTORE 2
#define ESHUTDOWN 3
#define ENOMEM 4

#define W_FSYNC 2
#define W_LAZY 3
#define W_LOAD 4
#define WAITERS 5
#define BIT(w) (1 << (w))

/* --- the store: kv.c, the journal, the device ------------------------------------------------ */

byte journal;               /* batches in the journal, all visible to a reader of the latest state */
byte v_at[JOURNAL_MAX];     /* V's changes up to a position */
byte number_at[JOURNAL_MAX]; /* a position's number, 0: not given yet */
byte synced;                /* positions that no crash takes back */
byte kv_last;               /* kv->last */
bool kv_broken;
bool pages_lost;            /* a sync has failed: later ones succeed and mean nothing */
bool data_synced;           /* the bytes of F's data file */

/* --- the committer ----------------------------------------------------------------------------- */

bool lock;
byte asleep;                /* the thread is in a cond_wait: which */
#define S_WAIT 1            /* cond_wait */
#define S_DUE 2             /* cond_wait_until the commit_interval is over */
#define S_GATHER 3          /* cond_wait_until the adaptive wait is over */
#define S_DOZE 4            /* cond_wait_until nothing applied meanwhile can be due: always over in time */
byte waking;                /* who has given the lock back and is about to signal */
byte waiting, lazy;         /* [lock] the lists */
bool dirty_since;           /* [lock] */
bool stop;                  /* [lock] */
byte here, one_ago, two_ago; /* [lock] writers that parked for this round, took part in the last two */
bool gathers;               /* [lock] */
bool dirty;                 /* atomic */
byte applied, durable;      /* atomic */
byte durable_view;          /* [durable's lock] the journal position it shows */
bool wanted, has_view;      /* atomic */
byte failed;                /* atomic */
bool joined;                /* the thread has ended */

byte seq[WAITERS];
bool parked[WAITERS], called[WAITERS];
byte result[WAITERS];
bool had[WAITERS];          /* was durable already when it came, and in the view */
bool had_view;

/* --- the volumes -------------------------------------------------------------------------------- */

bool role_held;             /* V's */
byte last_seq;              /* v->last_seq */
bool loaded;                /* V takes requests: v->durable_reads */

/* --- what the outside has been told; asserted about, never acted upon -------------------------- */

byte told;                  /* V's changes that were answered, or whose effect was shown: the last */
bool fsynced;               /* F's fsync was answered */
byte f_position;            /* of F's change */
byte finished;              /* processes that have nothing more to ask for */

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define EXISTS(position) (v_at[position] & 1)
#define DISTINCT(list) (((list) & 1) + (((list) >> 1) & 1) + (((list) >> 2) & 1))
#define LATELY DISTINCT(one_ago | two_ago)
#ifdef M_LONE_WAITS
#define GATHERED (DISTINCT(here) >= LATELY)
#else
#define GATHERED (LATELY <= 1 || DISTINCT(here) >= LATELY) /* gather_until: 0 */
#endif
#define CLIENTS (OP_WRITERS + FSYNC + LOAD + 1)

#ifdef M_DATA_BY_NUMBER
#define NAMES_DATA(w) false
#else
#define NAMES_DATA(w) ((w) == W_FSYNC)
#endif
#ifdef M_FIRST_VIEW_NOT_AWAITED
#define VIEW_IS_THERE true
#else
#define VIEW_IS_THERE (!wanted || has_view)
#endif
#define IS_DURABLE(w) (!NAMES_DATA(w) && VIEW_IS_THERE && seq[w] <= durable)

/* A5: with the lock free, a thread that sleeps has nothing to do.  A6: and no lazy waiter sits
 * there for whom there is nothing left to wait for. */
inline rested()
{
	if
	:: waking -> skip /* looked at again when that has happened */
	:: !waking && asleep == S_GATHER ->
		assert(!stop && !GATHERED)
	:: !waking && (asleep == S_WAIT || asleep == S_DUE || asleep == S_DOZE) ->
		assert(!waiting && !stop);
		assert(asleep != S_WAIT || !dirty_since);
		assert(!(lazy & BIT(W_LAZY)) || !(IS_DURABLE(W_LAZY) || failed))
	:: else
	fi
}

inline lock_take()
{
	atomic { !lock -> lock = true }
}

inline lock_give()
{
	atomic { lock = false; rested() }
}

inline cond_signal()
{
	asleep = 0
}

/* After lock_give. */
inline cond_signal_late(wake)
{
	if
	:: atomic { wake -> cond_signal(); waking--; wake = false; rested() }
	:: atomic { !wake }
	fi
}

/* Gives the lock back, sleeps, has it again; `comes`: whether the time may be over first. */
inline cond_wait_until(kind, comes, over)
{
	atomic { asleep = kind; lock = false; rested() };
	if
	:: atomic { !asleep && !lock -> lock = true }
	:: atomic { asleep && (comes) && !lock -> asleep = 0; lock = true; over = true }
	fi
}

/* --- store/kv.c ----------------------------------------------------------------------------------- */

/* The crash: whatever prefix of the journal survives beyond what was synced, what was told is in it
 * (A1, A2), and so is, of each volume, everything with a smaller number (A4).  What was told only
 * grows, and so does what was synced: looking at each step that tells or numbers something looks at
 * all steps.  -DCUT=1 takes nothing on trust and cuts at every step. */
inline after_power_cut()
{
	d_step {
		byte p, q;

		assert(told <= v_at[synced]);
		assert(!fsynced || f_position <= synced);
		for (p : 1 .. journal) {
			for (q : MAX(p, synced) + 1 .. journal) { /* p survives, q does not */
				assert(!number_at[p] || !number_at[q] || number_at[p] < number_at[q] ||
				       (v_at[p] > v_at[p - 1]) != (v_at[q] > v_at[q - 1]))
			}
		}
		p = 0;
		q = 0
	}
}

inline append(is_v, position)
{
	d_step {
		journal++;
		position = journal;
		v_at[position] = v_at[position - 1] + is_v
	}
}

inline give_number(position, number)
{
	atomic { kv_last++; number = kv_last }
}

inline kv_break()
{
#ifdef M_FAILED_YET_OPEN
	skip
#else
	kv_broken = true
#endif
}

/* number 0: refused, -KILN_EBADSTORE. */
inline kv_apply(is_v, position, number)
{
	if
	:: atomic { kv_broken -> number = 0 }
	:: atomic { else -> assert(!failed || failed == ESHUTDOWN) }; /* A10 */
#ifdef M_NUMBER_BEFORE_APPLY
		give_number(position, number);
		append(is_v, position);
#else
		append(is_v, position);
		give_number(position, number);
#endif
		atomic { number_at[position] = number; after_power_cut() }
	fi
}

/* Everything in the journal when the flush begins is on the device when it returns; a failure
 * promises nothing, and the next flush will not say so. */
inline kv_sync(last, err)
{
	if
	:: atomic { kv_broken -> err = EBADSTORE }
	:: atomic { else -> last = kv_last; flushing = journal };
		if
		:: atomic { !pages_lost -> synced = MAX(synced, flushing) }
		:: atomic { pages_lost }
#ifndef M_RETRY
		:: atomic { kv_broken = true; err = EIO }
#else
		:: atomic { !pages_lost -> pages_lost = true; err = EIO }
#endif
		fi;
		flushing = 0
	fi
}

/* --- store/commit.c, called by everybody ------------------------------------------------------- */

inline commit_applied(number)
{
	applied = MAX(applied, number);
	if
	:: atomic { dirty }
	:: atomic { !dirty -> dirty = true };
		atomic {
			!lock;
			if
			:: !dirty_since ->
				dirty_since = true;
				if
#ifndef M_DIRTY_NEVER_WAKES
				:: asleep == S_WAIT -> wake = true; waking++
#endif
				:: else
				fi
			:: else
			fi;
			rested()
		};
		cond_signal_late(wake)
	fi
}

inline settled(w, is, err)
{
	d_step {
		is = IS_DURABLE(w) || failed != 0;
		err = (IS_DURABLE(w) -> 0 : failed)
	}
}

inline done(w, err)
{
	assert(!called[w]); /* A6 */
	assert(!(err) || !had[w]); /* A9 */
	called[w] = true;
	result[w] = err
}

inline commit_wait(w, is_lazy)
{
	d_step {
		parked[w] = true;
		had[w] = !NAMES_DATA(w) && had_view && seq[w] <= durable
	};
	settled(w, is, err);
	if
	:: atomic { is -> done(w, err) }
	:: atomic { else };
		lock_take();
#ifndef M_SETTLED_OUTSIDE_ONLY
		settled(w, is, err);
#endif
		atomic {
			if
			:: is
			:: !is && is_lazy -> lazy = lazy | BIT(w)
			:: !is && !is_lazy -> /* join */
				if
				:: w < W_LAZY -> here = here | BIT(w)
				:: else
				fi;
				if
#ifdef M_SIGNAL_IF_NOT_EMPTY
				:: waiting -> wake = true; waking++
#else
				:: !waiting -> wake = true; waking++
#endif
#ifndef M_SIGNAL_IF_EMPTY_ONLY
				:: waiting && gathers && DISTINCT(here) >= LATELY -> wake = true; waking++
#endif
				:: else
				fi;
				waiting = waiting | BIT(w)
			fi;
			lock = false;
			rested()
		};
		cond_signal_late(wake);
		if
		:: atomic { is -> done(w, err) }
		:: atomic { else }
		fi
	fi;
	is = false
}

/* --- what answers claim ---------------------------------------------------------------------------- */

/* A2, A3: somebody is shown V as of a position. */
inline shows(position, least)
{
	atomic {
		assert(v_at[position] >= least);
		told = MAX(told, v_at[position]);
		after_power_cut()
	}
}

/* A1, A6: a waiter has been called; without an error its position is on the device. */
inline answer_durable(w, position, err)
{
	d_step {
		err = result[w];
		assert(err || position <= synced);
		parked[w] = false;
		called[w] = false;
		had[w] = false;
		result[w] = 0;
		seq[w] = 0
	}
}

/* --- the committer's thread ------------------------------------------------------------------------- */

inline call_back_one(list, w, err)
{
	if
	:: list & BIT(w) -> done(w, (IS_DURABLE(w) -> 0 : err))
	:: else
	fi
}

inline call_back(list, err)
{
	d_step {
#ifdef M_FAILURE_UNTOLD
		call_back_one(list, 0, 0); call_back_one(list, 1, 0);
		call_back_one(list, W_FSYNC, 0); call_back_one(list, W_LAZY, 0);
		call_back_one(list, W_LOAD, 0)
#else
		call_back_one(list, 0, err); call_back_one(list, 1, err);
		call_back_one(list, W_FSYNC, err); call_back_one(list, W_LAZY, err);
		call_back_one(list, W_LOAD, err)
#endif
	}
}

inline pull_one(from, w, to)
{
	if
	:: (from & BIT(w)) && (IS_DURABLE(w) || failed) -> from = from & ~BIT(w); to = to | BIT(w)
	:: else
	fi
}

/* Those who parked during the round and for whom nothing is left to wait for. */
inline pull_settled(to)
{
	d_step {
		pull_one(waiting, 0, to); pull_one(waiting, 1, to); pull_one(waiting, W_FSYNC, to);
		pull_one(waiting, W_LOAD, to);
#ifndef M_LAZY_STAYS
		pull_one(lazy, W_LAZY, to)
#endif
	}
}

inline durable_publish()
{
	durable_view = view
}

inline sync_files(list, err)
{
	if
	:: atomic { (list & BIT(W_FSYNC)) -> data_synced = true }
	:: atomic { (list & BIT(W_FSYNC)) -> kv_broken = true; err = EIO }
	:: atomic { !(list & BIT(W_FSYNC)) }
	fi
}

inline highest_wanted(list, number)
{
	d_step {
		number = applied;
		if :: list & BIT(0) -> number = MAX(number, seq[0]) :: else fi;
		if :: list & BIT(1) -> number = MAX(number, seq[1]) :: else fi;
		if :: list & BIT(W_FSYNC) -> number = MAX(number, seq[W_FSYNC]) :: else fi;
		if :: list & BIT(W_LAZY) -> number = MAX(number, seq[W_LAZY]) :: else fi;
		if :: list & BIT(W_LOAD) -> number = MAX(number, seq[W_LOAD]) :: else fi
	}
}

/* The number first, then the view, then the sync: so what the number covers is in the view, and
 * what is in the view is covered by the sync.  Then the view before the number: whoever is told
 * that a number is durable finds it in the view. */
inline sync_with_view(err)
{
	if
	:: view = journal
#if NO_MEMORY
	:: atomic { err = ENOMEM };
		kv_break()
#endif
	fi;
	if
	:: atomic { !err };
#ifdef M_PUBLISH_BEFORE_SYNC
		durable = number;
#endif
#ifdef M_VIEW_BEFORE_SYNC
		durable_publish();
#endif
		kv_sync(through, err);
		if
		:: atomic { !err };
#ifdef M_VIEW_TAKEN_AFTER_SYNC
			view = journal;
#endif
#ifdef M_NUMBER_OF_SYNC
			number = through;
#endif
#if !defined(M_VIEW_AFTER_NUMBER) && !defined(M_VIEW_AFTER_CALLBACKS)
			durable_publish();
#endif
			durable = number;
#ifdef M_VIEW_AFTER_NUMBER
			durable_publish();
#endif
			atomic { has_view = true; had_view = true }
		:: atomic { else };
#ifdef M_VIEW_LOST_ON_FAILURE
			has_view = false
#endif
		fi
	:: atomic { else }
	fi
}

inline sync_plain(err)
{
	kv_sync(through, err);
	if
	:: atomic { !err };
		applied = MAX(applied, through);
		durable = through
	:: atomic { else }
	fi
}

inline sync_store(list, err)
{
#ifndef M_NUMBER_BEFORE_LIST
	highest_wanted(list, number);
#endif
	if
	:: atomic { number > durable || (wanted && !has_view) };
		if
		:: atomic { !wanted };
			sync_plain(err)
		:: atomic { wanted };
			sync_with_view(err)
		fi
	:: atomic { else };
#ifdef M_VIEW_UNSYNCED
		view = journal;
		durable_publish()
#endif
	fi
}

inline sync_all(list, err)
{
#ifdef M_RETRY
	err = 0;
#else
	err = failed;
#endif
	if
	:: atomic { !err };
		sync_files(list, err);
		if
		:: atomic { !err };
			sync_store(list, err)
		:: atomic { else }
		fi;
#ifndef M_RETRY
		if
		:: atomic { err -> failed = EBADSTORE }
		:: atomic { else }
		fi
#endif
	:: atomic { else }
	fi
}

/* The adaptive wait: a writer is there; others who took part lately may join it. */
inline gather()
{
	gathers = true;
	do
	:: atomic { over || stop || GATHERED -> break }
	:: atomic { !over && !stop && !GATHERED -> assert(LATELY > 1) }; /* A7 */
		cond_wait_until(S_GATHER, true, over)
	od;
	atomic { over = false; gathers = false }
}

/* Begun and ended with the lock held. */
inline one_round()
{
	if
	:: atomic { waiting };
		gather()
	:: atomic { else }
	fi;
#ifdef M_NUMBER_BEFORE_LIST
	highest_wanted(0, number);
	lock_give();
	lock_take();
#endif
	d_step {
		list = waiting | lazy;
		two_ago = one_ago; /* gather_close */
		one_ago = here;
		here = 0;
		waiting = 0;
		lazy = 0;
		dirty_since = false
	};
#ifndef M_DIRTY_CLEARED_LATE
	dirty = false;
#endif
	lock_give();

	sync_all(list, err);

	lock_take();
#ifdef M_DIRTY_CLEARED_LATE
	dirty = false;
#endif
	pull_settled(late);
	lock_give();

	call_back(list, err);
	call_back(late, failed);
#ifdef M_VIEW_AFTER_CALLBACKS
	if
	:: atomic { view && !err };
		durable_publish()
	:: atomic { else }
	fi;
#endif
	d_step { list = 0; late = 0; err = 0; number = 0; through = 0; view = 0 };
	lock_take()
}

proctype committer()
{
	byte list, late, err, number, through, view, flushing;
	bool over, dozed;

	lock_take();
	do
	:: atomic { waiting || (dirty_since && (stop || over || INTERVAL)) -> over = false; dozed = false };
		one_round()
	:: atomic { !waiting && stop && !dirty_since -> break }
	:: atomic { !waiting && !stop && dirty_since && !over };
		cond_wait_until(S_DUE, INTERVAL, over)
	:: atomic { !waiting && !stop && !dirty_since && !dozed };
		cond_wait_until(S_DOZE, true, dozed)
	:: atomic { !waiting && !stop && !dirty_since && dozed };
		cond_wait_until(S_WAIT, false, over)
	od;
	atomic { lock = false; joined = true }
}

/* --- commit_quiesce: at any time, or when nobody asks for anything any more --------------------- */

proctype commit_quiesce()
{
	byte rest;
	atomic {
		!lock && (STOP_EARLY || finished == CLIENTS);
		if /* A8 */
		:: finished == CLIENTS && asleep == S_WAIT -> assert(failed || kv_last <= durable)
		:: else
		fi;
		stop = true;
		cond_signal()
	};
	joined;
	atomic {
		if
		:: !failed -> failed = ESHUTDOWN
		:: else
		fi
	};
	atomic { !lock -> rest = waiting | lazy; waiting = 0; lazy = 0 };
	call_back(rest, failed);
	/* A6: blocked here for ever, an invalid end state, if somebody was never called */
	finished == CLIENTS && (!parked[W_LAZY] || called[W_LAZY])
}

/* --- server/role.c, read.c ---------------------------------------------------------------------------- */

inline role_take()
{
#ifndef M_NO_ROLE
	atomic { !role_held -> role_held = true }
#else
	skip
#endif
}

inline role_give()
{
	role_held = false
}

/* A change that fails shows that the name is there (or is not): at once if all of V is durable or
 * if the durable view says so too (is_unsure, probe_agrees), else when what it saw is durable. */
inline change_failed()
{
	if
#ifdef M_FAIL_AT_ONCE
	:: true;
		role_give();
		shows(position, least)
#else
	:: atomic { last_seq <= durable };
		role_give();
		shows(position, least)
	:: atomic { else -> view = durable_view };
		if
		:: atomic { EXISTS(view) == EXISTS(position) };
			role_give();
			shows(view, least)
		:: atomic { else };
#ifdef M_FAIL_ON_DURABLE
			seq[me] = durable;
#else
			seq[me] = applied;
#endif
			commit_wait(me, false);
			role_give();
			called[me];
			answer_durable(me, 0, err);
			if
			:: atomic { !err };
				shows(position, least)
			:: atomic { else -> err = 0 }
			fi
		fi
#endif
	fi
}

inline group_close()
{
	kv_apply(1, position, number);
	if
	:: atomic { !number };
		role_give() /* answered with -KILN_EBADSTORE */
	:: atomic { else };
		commit_applied(number);
		last_seq = number; /* note_applied */
		seq[me] = number;
		commit_wait(me, false);
		role_give();
		called[me];
		answer_durable(me, position, err);
		if
		:: atomic { !err };
			shows(position, least)
		:: atomic { else -> err = 0 }
		fi
	fi
}

proctype op_writer(byte me)
{
	byte position, number, least, err, view, turns;
	bool is, wake, wants;

end_closed:
	loaded;
	do
	:: atomic { turns < REQS -> turns++ };
		if
		:: wants = true /* create */
		:: wants = false /* unlink */
		fi;
		atomic { least = told };
		role_take();
		atomic { position = journal };
		if
		:: atomic { EXISTS(position) == wants };
			change_failed()
		:: atomic { else };
			group_close()
		fi;
		d_step { position = 0; number = 0; least = 0; view = 0; wants = false }
	:: atomic { turns == REQS -> finished++; break }
	od
}

#if FSYNC
proctype fsync_writer()
{
	byte number, err;
	bool is, wake;

	kv_apply(0, f_position, number);
	if
	:: atomic { number };
		commit_applied(number);
		/* answered here, by now or after what follows */
		if
		:: seq[W_LAZY] = number; /* volume_effects_done: trash_queue */
			commit_wait(W_LAZY, true)
		:: seq[W_FSYNC] = applied; /* read_try */
			commit_wait(W_FSYNC, false);
			called[W_FSYNC];
			answer_durable(W_FSYNC, f_position, err);
			atomic {
				assert(err || data_synced);
				fsynced = !err;
				after_power_cut()
			}
		:: true
		fi
	:: atomic { else }
	fi;
	finished++
}
#endif

/* reader_aim_durable: the durable view and nothing else. */
proctype op_reader()
{
	byte position, least, turns;

end_closed:
	loaded;
	do
	:: atomic { turns < READS -> turns++; least = told };
#ifdef M_READ_LATEST_IF_DURABLE
		if
		:: atomic { last_seq <= durable };
			position = journal
		:: atomic { else -> position = durable_view }
		fi;
#else
		position = durable_view;
#endif
		shows(position, least);
		d_step { position = 0; least = 0 }
	:: atomic { turns == READS -> finished++; break }
	od
}

#if LOAD
/* volume_load, or volume_update to durability `op`: a first view, then everything that was applied
 * before; then V's readers look at the view.  What was there before counts as answered. */
proctype durable_reads()
{
	byte err, before;
	bool is, wake;

	atomic { before = v_at[journal]; wanted = true };
	seq[W_LOAD] = 0; /* sleep_view */
	commit_wait(W_LOAD, false);
	called[W_LOAD];
	answer_durable(W_LOAD, 0, err);
	if
	:: atomic { !err };
		assert(has_view);
		seq[W_LOAD] = applied;
		commit_wait(W_LOAD, false);
		called[W_LOAD];
		answer_durable(W_LOAD, 0, err);
	:: atomic { else }
	fi;
	atomic {
		if
		:: !err -> assert(v_at[durable_view] >= before)
		:: else -> finished = finished + OP_WRITERS + 1 /* V stays closed: nobody comes */
		fi;
		loaded = !err;
		finished++
	}
}
#endif

#if CUT
proctype power_cut()
{
	after_power_cut()
}
#endif

init {
	byte me;

	atomic {
		one_ago = (LONE -> 1 : BIT(OP_WRITERS) - 1);
#if LOAD
		d_step { journal = 1; v_at[1] = 1; kv_last = 1; number_at[1] = 1; applied = 1; dirty = true;
			 dirty_since = true };
		run durable_reads();
#else
		d_step { wanted = true; has_view = true; had_view = true; loaded = true };
#endif
		run committer();
		run commit_quiesce();
		do
		:: me < OP_WRITERS -> run op_writer(me); me++
		:: else -> me = 0; break
		od;
#if FSYNC
		run fsync_writer();
#endif
#if CUT
		run power_cut();
#endif
		run op_reader()
	}
}
