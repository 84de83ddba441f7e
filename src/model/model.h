// The words of the house, all of them: values and their one JSON spelling. No behaviour, no I/O.
#pragma once

#include "model/gates.h"
#include "model/ids.h"
#include "model/json.h"
#include "model/kit.h"
#include "model/objects.h"
#include "model/problem.h"
#include "model/records.h"
#include "model/run_event.h"
#include "model/workflow.h"
