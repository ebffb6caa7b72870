/* Points of a run at which a test ends or stops the supervisor. Only the build for the fault tests has them (-DHOLDFAST_FAULTS);
   in every other build they are nothing. */
#ifndef HOLDFAST_FAULT_H
#define HOLDFAST_FAULT_H

#include <stdint.h>

#ifdef HOLDFAST_FAULTS
/* To be called where the step that `point` names begins or is done. `number` is what is known there, such as the bytes that a log has
   taken; a test reads it. */
void fault_pass(const char *point, uint64_t number);
#define FAULT(point, number) fault_pass(point, (uint64_t)(number))
#else
#define FAULT(point, number) ((void)0)
#endif

#endif
