#include "signals.h"

void awaited_signals(sigset_t *signals) {
  sigemptyset(signals);
  sigaddset(signals, SIGCHLD);
  sigaddset(signals, SIGTERM);
  sigaddset(signals, SIGINT);
  sigaddset(signals, SIGHUP);
}
