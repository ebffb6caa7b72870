/* The signals that both processes of a supervisor block and wait for. */
#ifndef HOLDFAST_SIGNALS_H
#define HOLDFAST_SIGNALS_H

#include <signal.h>

/* CHLD, and those that ask for the end. */
void awaited_signals(sigset_t *signals);

#endif
