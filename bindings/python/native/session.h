// fettle_session in Python.
#pragma once

#include <string>
#include <vector>

#include "state.h"

namespace fettle::python {

/// Names as Python's strings find them, and as C wants them.
struct Names {
  std::vector<std::string> texts;
  Ref index;  // dict: str -> its number in `texts`

  bool Add(const char* name);
  /// The number of `name`; -1: raised, FETTLE_NOT_FOUND for what is none of them (`what`: "input").
  Py_ssize_t Find(PyObject* name, const char* what) const;
};

struct SessionData {
  fettle_session* handle = nullptr;  // null: closed
  Names inputs, outputs;             // of extra outputs, too
  size_t model_outputs = 0;          // the first so many of `outputs`
  Ref kept_inputs, kept_outputs;     // dict: number -> the fettle.Tensor that was set
  int64_t forks = 0;                 // State::forks when it was made
  int calls = 0;                     // in progress
};

struct SessionObject {
  PyObject_HEAD SessionData* data;
};

/// A call that uses a session's handle without the GIL.
class SessionCall {
 public:
  explicit SessionCall(SessionData& data) : data_(data) { ++data_.calls; }
  ~SessionCall() { --data_.calls; }
  SessionCall(const SessionCall&) = delete;
  SessionCall& operator=(const SessionCall&) = delete;
  /// What `function` returns, called with the handle.
  template <typename Function>
  fettle_status Run(Function&& function) {
    const WithoutGil running;
    return function(data_.handle);
  }

 private:
  SessionData& data_;  // calls are counted under the GIL
};

/// The session if it can be called: neither closed nor of the process that this one was forked
/// from. Null: raised.
SessionData* Open(PyObject* self);

/// infer.cc: Session._infer(feeds: dict, names: tuple or None, raw: bool) -> list.
PyObject* Infer(PyObject* self, PyObject* args);
/// infer.cc: Session._start(feeds: dict, names: tuple or None, raw: bool, deliver) -> a run, for
/// which deliver(list or None, exception or None) is called on a thread of the session's.
PyObject* Start(PyObject* self, PyObject* args);
/// infer.cc: cancel_run(run), which never waits, and wait_for_run(run).
PyObject* CancelRun(PyObject* module, PyObject* run);
PyObject* WaitForRun(PyObject* module, PyObject* run);
/// session_facts.cc
PyObject* Tune(PyObject* self, PyObject* args);
PyObject* TuneInBackground(PyObject* self, PyObject* args);
PyObject* Background(PyObject* self, PyObject*);
PyObject* WaitForBackground(PyObject* self, PyObject* args);
PyObject* CancelBackground(PyObject* self, PyObject*);
PyObject* Steps(PyObject* self, PyObject*);
PyObject* Memory(PyObject* self, PyObject*);
PyObject* Transfers(PyObject* self, PyObject*);

}  // namespace fettle::python
