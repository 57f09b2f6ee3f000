/* What a seccomp filter decides about a system call that is not fully known. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "filter.h"

#include <linux/seccomp.h>
#include <string.h>

#define MAX_STEPS 65536
#define MAX_BRANCHES 64 /* to be followed yet */

struct value {
	uint32_t is;
	bool known;
};

/* The machine at one instruction. */
struct state {
	unsigned at;
	struct value a, x;
	struct value memory[BPF_MEMWORDS];
};

struct filter_room {
	struct state now;
	struct state later[MAX_BRANCHES];
	unsigned n_later;
};

const size_t filter_room_bytes = sizeof(struct filter_room);

void filter_argument(struct filter_call *call, unsigned n, uint64_t value)
{
	const unsigned word = offsetof(struct seccomp_data, args) / 4 + 2 * n;

	memcpy(&call->words[word], &value, sizeof(value));
	call->known |= (uint16_t)(3u << word);
}

static struct value sure(uint32_t is)
{
	return (struct value){ is, true };
}

/* The word at byte K; unknown beyond the data, which the kernel refuses. */
static struct value load(const struct filter_call *call, uint32_t k)
{
	const uint32_t word = k / 4;

	if (k % 4 || word >= FILTER_WORDS || !(call->known >> word & 1))
		return (struct value){ 0, false };
	return sure(call->words[word]);
}

static struct value calculate(uint16_t code, struct value a, struct value b)
{
	if (BPF_OP(code) == BPF_NEG)
		b = sure(0);
	if (!a.known || !b.known)
		return (struct value){ 0, false };
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return sure(a.is + b.is);
	case BPF_SUB:
		return sure(a.is - b.is);
	case BPF_MUL:
		return sure(a.is * b.is);
	case BPF_DIV:
		return b.is ? sure(a.is / b.is) : (struct value){ 0, false };
	case BPF_OR:
		return sure(a.is | b.is);
	case BPF_AND:
		return sure(a.is & b.is);
	case BPF_XOR:
		return sure(a.is ^ b.is);
	case BPF_LSH:
		return b.is < 32 ? sure(a.is << b.is) : (struct value){ 0, false };
	case BPF_RSH:
		return b.is < 32 ? sure(a.is >> b.is) : (struct value){ 0, false };
	case BPF_NEG:
		return sure(0 - a.is);
	default:
		return (struct value){ 0, false };
	}
}

static bool compares(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return a & b; /* BPF_JSET */
	}
}

/* Follows a jump; false: more branches than there is room for. */
static bool jump(struct filter_room *room, const struct sock_filter *i)
{
	struct state *now = &room->now;
	const struct value b = BPF_SRC(i->code) == BPF_X ? now->x : sure(i->k);

	if (BPF_OP(i->code) == BPF_JA) {
		now->at += i->k;
		return true;
	}
	if (now->a.known && b.known) {
		now->at += compares(i->code, now->a.is, b.is) ? i->jt : i->jf;
		return true;
	}
	if (room->n_later == MAX_BRANCHES)
		return false;
	room->later[room->n_later] = *now;
	room->later[room->n_later++].at += i->jf;
	now->at += i->jt;
	return true;
}

/* Runs an instruction that is no jump and no return; false: no instruction of a seccomp filter. */
static bool step(struct state *now, const struct sock_filter *i, const struct filter_call *call)
{
	struct value *to = BPF_CLASS(i->code) == BPF_LDX ? &now->x : &now->a;

	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
	case BPF_LDX:
		if (BPF_MODE(i->code) == BPF_ABS)
			*to = load(call, i->k);
		else if (BPF_MODE(i->code) == BPF_LEN)
			*to = sure(sizeof(struct seccomp_data));
		else if (BPF_MODE(i->code) == BPF_IMM)
			*to = sure(i->k);
		else if (BPF_MODE(i->code) == BPF_MEM && i->k < BPF_MEMWORDS)
			*to = now->memory[i->k];
		else
			return false;
		return true;
	case BPF_ST:
	case BPF_STX:
		if (i->k >= BPF_MEMWORDS)
			return false;
		now->memory[i->k] = BPF_CLASS(i->code) == BPF_ST ? now->a : now->x;
		return true;
	case BPF_ALU:
		now->a =
			calculate(i->code, now->a, BPF_SRC(i->code) == BPF_X ? now->x : sure(i->k));
		return true;
	case BPF_MISC:
		if (BPF_MISCOP(i->code) == BPF_TAX)
			now->x = now->a;
		else
			now->a = now->x;
		return true;
	default:
		return false;
	}
}

/* Runs one path through the filter to its end. */
static bool way_allows(const struct sock_filter *code, unsigned n, const struct filter_call *call,
		       struct filter_room *room, unsigned *steps)
{
	while (room->now.at < n && ++*steps < MAX_STEPS) {
		const struct sock_filter *i = &code[room->now.at++];
		const struct value verdict = BPF_RVAL(i->code) == BPF_A ? room->now.a : sure(i->k);

		if (BPF_CLASS(i->code) == BPF_RET)
			return verdict.known &&
			       ((verdict.is & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW ||
				(verdict.is & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_LOG);
		if (BPF_CLASS(i->code) == BPF_JMP ? !jump(room, i) : !step(&room->now, i, call))
			return false;
	}
	return false;
}

bool filter_allows(const struct sock_filter *code, unsigned n, const struct filter_call *call,
		   struct filter_room *room)
{
	unsigned steps = 0;

	memset(&room->now, 0, sizeof(room->now));
	/* zeroed by the kernel, too */
	room->now.a = room->now.x = sure(0);
	for (int i = 0; i < BPF_MEMWORDS; i++)
		room->now.memory[i] = sure(0);
	room->n_later = 0;
	while (way_allows(code, n, call, room, &steps)) {
		if (room->n_later == 0)
			return true;
		room->now = room->later[--room->n_later];
	}
	return false;
}
