// The JSON Schema of manifests, version 1, as `opbatch schema` prints it: part of the contract with
// editors and programs. The parser does not go by it; tests hold both to the same examples.

let manifestSchema = #"""
  {
   "$schema": "http://json-schema.org/draft-07/schema#",
   "$id": "https://opcluster.example/schema/opgraph-v1.schema.json",
   "title": "opbatch graph manifest, version 1",
   "type": "object",
   "required": ["version", "operations"],
   "additionalProperties": false,
   "patternProperties": {
    "^x-": {"description": "Free for your own use (YAML anchors live well here)."}
   },
   "properties": {
    "$schema": {"type": "string"},
    "version": {"const": 1, "description": "Manifest format version."},
    "name": {
     "$ref": "#/definitions/name",
     "description": "Graph name. Default: the file name without extension."
    },
    "description": {"type": "string"},
    "labels": {"$ref": "#/definitions/labels"},
    "params": {
     "type": "object",
     "description": "Values a submitter may set with -p NAME=VALUE.",
     "propertyNames": {"pattern": "^[a-z][a-z0-9_]{0,63}$"},
     "additionalProperties": {
      "oneOf": [
       {"type": ["string", "number", "boolean"]},
       {
        "type": "object",
        "additionalProperties": false,
        "properties": {
         "type": {"enum": ["string", "int", "number", "bool", "path"]},
         "default": {"type": ["string", "number", "boolean"]},
         "required": {"type": "boolean"},
         "choices": {"type": "array", "minItems": 1},
         "pattern": {"type": "string"},
         "help": {"type": "string"}
        }
       }
      ]
     }
    },
    "defaults": {
     "$ref": "#/definitions/opSettings",
     "description": "Settings every operation starts from."
    },
    "env": {"$ref": "#/definitions/env"},
    "queues": {
     "type": "object",
     "description": "Graph-local queues; an operation names one with 'queue:'.",
     "propertyNames": {"$ref": "#/definitions/name"},
     "additionalProperties": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
       "max_concurrent": {
        "oneOf": [{"type": "integer", "minimum": 0}, {"const": "unlimited"}],
        "description": "maxConcurrentOperationCount; 1 makes a serial queue."
       },
       "qos": {"$ref": "#/definitions/qos"},
       "priority": {"$ref": "#/definitions/priority"},
       "suspended": {"type": "boolean", "default": false},
       "cluster_queue": {
        "type": "string",
        "description": "Cluster queue that backs this one. Default: 'default'."
       }
      }
     }
    },
    "on_failure": {
     "enum": ["continue", "stop", "cancel"],
     "default": "continue",
     "description": "continue: run what can still run. stop: start nothing new. cancel: also \#
  cancel what runs."
    },
    "max_failures": {
     "oneOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,3}%$"}]
    },
    "deadline": {"$ref": "#/definitions/duration"},
    "operations": {"$ref": "#/definitions/operations"},
    "barriers": {
     "type": "array",
     "items": {
      "type": "object",
      "required": ["name", "after", "before"],
      "additionalProperties": false,
      "properties": {
       "name": {"$ref": "#/definitions/name"},
       "after": {"$ref": "#/definitions/nameList"},
       "before": {"$ref": "#/definitions/nameList"},
       "when": {"$ref": "#/definitions/when"}
      }
     }
    },
    "finally": {
     "$ref": "#/definitions/operations",
     "description": "Run once everything above has ended, whatever the outcome."
    }
   },
   "definitions": {
    "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_.-]{0,127}$"},
    "nameList": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/name"}},
    "labels": {
     "type": "object",
     "propertyNames": {"pattern": "^[A-Za-z][A-Za-z0-9_./-]{0,62}$"},
     "additionalProperties": {"type": ["string", "number", "boolean"]}
    },
    "duration": {
     "type": "string",
     "pattern": "^([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+$",
     "description": "Like 90s, 15m, 1h30m, 2d."
    },
    "bytes": {
     "oneOf": [
      {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)? ?(B|kB|KB|KiB|MB|MiB|GB|GiB|TB|TiB)$"},
      {"type": "integer", "minimum": 0}
     ]
    },
    "qos": {"enum": ["user-interactive", "user-initiated", "default", "utility", "background"]},
    "priority": {
     "oneOf": [
      {"enum": ["very-low", "low", "normal", "high", "very-high"]},
      {"type": "integer", "minimum": -1000, "maximum": 1000}
     ]
    },
    "when": {
     "enum": ["succeeded", "finished", "failed", "started"],
     "default": "succeeded",
     "description": "succeeded: it ended well. finished: it ended at all (succeeded, failed, \#
  timed out, cancelled or skipped): Apple's Operation meaning. failed: it failed or timed out. \#
  started: it began to run."
    },
    "env": {
     "type": "object",
     "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
     "additionalProperties": {"type": ["string", "number", "boolean"]}
    },
    "signal": {"type": "string", "pattern": "^(SIG)?[A-Z0-9+]+$"},
    "edge": {
     "type": "object",
     "additionalProperties": false,
     "properties": {
      "when": {"$ref": "#/definitions/when"},
      "match": {
       "enum": ["all", "same-index"],
       "default": "all",
       "description": "same-index: element i waits only for element i (Slurm's aftercorr)."
      },
      "optional": {"type": "boolean", "default": false}
     }
    },
    "needs": {
     "oneOf": [
      {"$ref": "#/definitions/name"},
      {
       "type": "array",
       "items": {
        "oneOf": [{"$ref": "#/definitions/name"}, {"allOf": [{"$ref": "#/definitions/edge0"}]}]
       }
      },
      {
       "type": "object",
       "propertyNames": {"$ref": "#/definitions/name"},
       "additionalProperties": {
        "oneOf": [{"$ref": "#/definitions/when"}, {"$ref": "#/definitions/edge"}]
       }
      }
     ]
    },
    "edge0": {
     "type": "object",
     "required": ["op"],
     "additionalProperties": false,
     "properties": {
      "op": {"$ref": "#/definitions/name"},
      "when": {"$ref": "#/definitions/when"},
      "match": {"enum": ["all", "same-index"]},
      "optional": {"type": "boolean"}
     }
    },
    "growing": {
     "oneOf": [
      {"$ref": "#/definitions/bytes"},
      {
       "type": "object",
       "required": ["first"],
       "additionalProperties": false,
       "properties": {
        "first": {"$ref": "#/definitions/bytes"},
        "factor": {"type": "number", "minimum": 1},
        "max": {"$ref": "#/definitions/bytes"}
       }
      }
     ],
     "description": "A size, or one that grows with each retry after running out of memory."
    },
    "resources": {
     "type": "object",
     "properties": {
      "cpus": {"oneOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "all"}]},
      "memory": {"$ref": "#/definitions/growing"},
      "gpus": {"type": "number", "minimum": 0},
      "disk": {"$ref": "#/definitions/bytes"},
      "exclusive": {"type": "boolean"}
     },
     "additionalProperties": {"type": "number", "minimum": 0}
    },
    "retry": {
     "oneOf": [
      {"type": "integer", "minimum": 0, "maximum": 100},
      {
       "type": "object",
       "additionalProperties": false,
       "properties": {
        "max": {"type": "integer", "minimum": 0, "maximum": 100},
        "reasons": {
         "type": "array",
         "items": {
          "type": "string",
          "pattern": \#
  "^(any|failed|timeout|oom|lost|signal|signal:[A-Z0-9]+|exit:[0-9]{1,3}(-[0-9]{1,3})?)$"
         }
        },
        "backoff": {"$ref": "#/definitions/duration"},
        "backoff_factor": {"type": "number", "minimum": 1},
        "backoff_max": {"$ref": "#/definitions/duration"},
        "avoid_worker": {"type": "boolean", "default": true}
       }
      }
     ]
    },
    "cancel": {
     "type": "object",
     "additionalProperties": false,
     "properties": {
      "signal": {"$ref": "#/definitions/signal"},
      "grace": {"$ref": "#/definitions/duration"},
      "group": {"type": "boolean", "default": true}
     }
    },
    "opSettings": {
     "type": "object",
     "additionalProperties": false,
     "properties": {
      "queue": {"$ref": "#/definitions/name"},
      "priority": {"$ref": "#/definitions/priority"},
      "qos": {"$ref": "#/definitions/qos"},
      "resources": {"$ref": "#/definitions/resources"},
      "require": {
       "type": "object",
       "additionalProperties": {"type": ["string", "number", "boolean", "array"]}
      },
      "retry": {"$ref": "#/definitions/retry"},
      "max_lost": {"type": "integer", "minimum": 0, "default": 5},
      "timeout": {"$ref": "#/definitions/duration"},
      "warn_before_timeout": {
       "type": "object",
       "required": ["signal", "before"],
       "additionalProperties": false,
       "properties": {
        "signal": {"$ref": "#/definitions/signal"},
        "before": {"$ref": "#/definitions/duration"}
       }
      },
      "needs_time": {
       "$ref": "#/definitions/duration",
       "description": "Only start on a worker with at least this much time left."
      },
      "cancel": {"$ref": "#/definitions/cancel"},
      "suspend_signal": {"$ref": "#/definitions/signal"},
      "env": {"$ref": "#/definitions/env"},
      "export_env": {
       "type": "array",
       "items": {"type": "string"},
       "description": "Variables (globs) copied from the submitter. Default: none."
      },
      "workdir": {"type": "string"},
      "shell": {
       "oneOf": [
        {"enum": ["sh", "bash", "none"]},
        {"type": "array", "items": {"type": "string"}, "minItems": 1}
       ]
      },
      "stdout": {"type": "string"},
      "stderr": {"type": "string"},
      "stdin": {
       "oneOf": [
        {"type": "string"},
        {
         "type": "object",
         "required": ["file"],
         "properties": {"file": {"type": "string"}},
         "additionalProperties": false
        }
       ]
      },
      "logs": {
       "type": "object",
       "additionalProperties": false,
       "properties": {
        "keep": {"enum": ["always", "on-failure", "never"]},
        "max": {"$ref": "#/definitions/bytes"}
       }
      },
      "ok_exit_codes": {
       "type": "array",
       "items": {"type": "integer", "minimum": 0, "maximum": 255}
      },
      "labels": {"$ref": "#/definitions/labels"}
     }
    },
    "operations": {
     "type": "object",
     "minProperties": 1,
     "propertyNames": {"$ref": "#/definitions/name"},
     "additionalProperties": {"$ref": "#/definitions/operation"}
    },
    "operation": {
     "type": "object",
     "allOf": [
      {
       "oneOf": [
        {"required": ["run"]},
        {"required": ["call"]},
        {"required": ["blocks"]},
        {"required": ["group"]},
        {"required": ["barrier"]}
       ]
      }
     ],
     "additionalProperties": false,
     "properties": {
      "description": {"type": "string"},
      "run": {
       "oneOf": [
        {"type": "string"},
        {"type": "array", "minItems": 1, "items": {"type": "string"}}
       ],
       "description": "A list is executed directly; a string goes to the shell. Values put in \#
  with ${{ }} are shell-quoted."
      },
      "call": {
       "type": "object",
       "required": ["type"],
       "additionalProperties": false,
       "properties": {"type": {"type": "string"}, "input": {}},
       "description": "An operation type registered in a worker by the Swift library."
      },
      "blocks": {
       "type": "array",
       "minItems": 1,
       "items": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
       "description": "BlockOperation: commands that run side by side on one worker as one \#
  operation."
      },
      "group": {
       "type": "object",
       "required": ["operations"],
       "additionalProperties": false,
       "properties": {
        "operations": {"$ref": "#/definitions/operations"},
        "max_concurrent": {"type": "integer", "minimum": 1},
        "on_failure": {"enum": ["continue", "stop", "cancel"]},
        "same_worker": {"type": "boolean", "default": false}
       },
       "description": "A GroupOperation: its own little graph, one operation to the outside."
      },
      "barrier": {"const": true, "description": "Does nothing; a joint for dependencies."},
      "needs": {"$ref": "#/definitions/needs"},
      "needs_any": {"$ref": "#/definitions/needs"},
      "array": {
       "oneOf": [
        {
         "type": "string",
         "pattern": "^[0-9_]+(-[0-9_]+(:[0-9]+)?)?(,[0-9_]+(-[0-9_]+(:[0-9]+)?)?)*$"
        },
        {
         "type": "object",
         "additionalProperties": false,
         "minProperties": 1,
         "properties": {
          "range": {"type": "string"},
          "items": {"type": "array"},
          "lines": {"type": "string"},
          "glob": {"type": "string"},
          "json": {"type": "string"},
          "csv": {"type": "string"},
          "max_parallel": {"type": "integer", "minimum": 1},
          "max_failures": {"type": "integer", "minimum": 0}
         }
        }
       ]
      },
      "matrix": {
       "type": "object",
       "minProperties": 1,
       "properties": {
        "include": {"type": "array", "items": {"type": "object"}},
        "exclude": {"type": "array", "items": {"type": "object"}},
        "max_parallel": {"type": "integer", "minimum": 1},
        "max_failures": {"type": "integer", "minimum": 0}
       },
       "additionalProperties": {"type": "array", "minItems": 1}
      },
      "if": {
       "type": "string",
       "description": "Decided at submit time from params, matrix and item only."
      },
      "files": {
       "type": "object",
       "additionalProperties": false,
       "properties": {
        "in": {"type": "array", "items": {"type": "string"}},
        "out": {"type": "array", "items": {"type": "string"}},
        "stage": {"enum": ["shared", "copy"], "default": "shared"},
        "skip_if_current": {
         "type": "boolean",
         "default": false,
         "description": "make's rule: skip when every 'out' exists and is newer than every 'in'."
        }
       }
      },
      "outputs": {
       "type": "array",
       "items": {"$ref": "#/definitions/name"},
       "description": "Small values the operation writes to $OP_OUTPUT as key=value."
      },
      "allow_failure": {
       "oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer"}}]
      },
      "queue": {"$ref": "#/definitions/name"},
      "priority": {"$ref": "#/definitions/priority"},
      "qos": {"$ref": "#/definitions/qos"},
      "resources": {"$ref": "#/definitions/resources"},
      "require": {
       "type": "object",
       "additionalProperties": {"type": ["string", "number", "boolean", "array"]}
      },
      "retry": {"$ref": "#/definitions/retry"},
      "max_lost": {"type": "integer", "minimum": 0, "default": 5},
      "timeout": {"$ref": "#/definitions/duration"},
      "warn_before_timeout": {
       "type": "object",
       "required": ["signal", "before"],
       "additionalProperties": false,
       "properties": {
        "signal": {"$ref": "#/definitions/signal"},
        "before": {"$ref": "#/definitions/duration"}
       }
      },
      "needs_time": {
       "$ref": "#/definitions/duration",
       "description": "Only start on a worker with at least this much time left."
      },
      "cancel": {"$ref": "#/definitions/cancel"},
      "suspend_signal": {"$ref": "#/definitions/signal"},
      "env": {"$ref": "#/definitions/env"},
      "export_env": {
       "type": "array",
       "items": {"type": "string"},
       "description": "Variables (globs) copied from the submitter. Default: none."
      },
      "workdir": {"type": "string"},
      "shell": {
       "oneOf": [
        {"enum": ["sh", "bash", "none"]},
        {"type": "array", "items": {"type": "string"}, "minItems": 1}
       ]
      },
      "stdout": {"type": "string"},
      "stderr": {"type": "string"},
      "stdin": {
       "oneOf": [
        {"type": "string"},
        {
         "type": "object",
         "required": ["file"],
         "properties": {"file": {"type": "string"}},
         "additionalProperties": false
        }
       ]
      },
      "logs": {
       "type": "object",
       "additionalProperties": false,
       "properties": {
        "keep": {"enum": ["always", "on-failure", "never"]},
        "max": {"$ref": "#/definitions/bytes"}
       }
      },
      "ok_exit_codes": {
       "type": "array",
       "items": {"type": "integer", "minimum": 0, "maximum": 255}
      },
      "labels": {"$ref": "#/definitions/labels"}
     }
    }
   }
  }
  """#
