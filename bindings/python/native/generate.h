// Sequences of language models, as their methods see them.
#pragma once

#include <cstdint>

#include "state.h"

namespace fettle::python {

struct GenerateData {
  fettle_generate* handle = nullptr;  // null: closed
  int64_t forks = 0;                  // State::forks when it was made
  int calls = 0;                      // in progress; counted under the GIL
};

struct GenerateObject {
  PyObject_HEAD GenerateData* data;
};

/// fettle._native.Generator.
extern PyObject* generator_type;

GenerateData* GenerateDataOf(PyObject* self);
/// The sequence if it can be called: neither closed nor of the process that this one was forked
/// from. Null: raised.
GenerateData* OpenGenerate(PyObject* self);
/// A token of any int: one that no vocabulary has where it does not fit. False: raised.
bool TokenOf(PyObject* object, int32_t* token);

/// _step(generators: sequence, tokens: sequence of int), a static method.
PyObject* StepGenerators(PyObject*, PyObject* args);

}  // namespace fettle::python
