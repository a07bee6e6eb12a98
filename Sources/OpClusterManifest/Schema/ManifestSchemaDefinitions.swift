// Second part of the manifest's schema: the definitions. See ManifestSchema.swift.

extension ManifestSchema {
  static let definitions = #"""
      "definitions": {
        "block": {
          "description": "A command as 'run' takes it, or the call of an operation type or of \#
    a function of Python.",
          "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}},
            {
              "type": "object",
              "additionalProperties": false,
              "minProperties": 1,
              "maxProperties": 1,
              "properties": {
                "call": {"$ref": "#/definitions/call"},
                "python": {"$ref": "#/definitions/python"}
              }
            }
          ]
        },
        "bytes": {
          "anyOf": [
            {
              "type": "string",
              "pattern": "^[0-9]+(\\.[0-9]+)? ?(B|kB|KB|KiB|MB|MiB|GB|GiB|TB|TiB)$"
            },
            {"type": "integer", "minimum": 0},
            {"$ref": "#/definitions/parameter"}
          ]
        },
        "call": {
          "type": "object",
          "required": ["type"],
          "additionalProperties": false,
          "properties": {
            "type": {"$ref": "#/definitions/name"},
            "version": {
              "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 4294967295},
                {"$ref": "#/definitions/parameter"}
              ],
              "description": "Only workers that have this version of the type run it.",
              "default": 1
            },
            "input": {
              "description": "Given to it as JSON, with values put in where it holds \#
    ${{ item }} and the like. A text that is ${{ needs.OP.outputs.KEY }} and nothing else becomes \#
    what the output is: a field of a typed result keeps its kind; of what a command wrote, a \#
    number, true, false, a JSON list or object keeps it, and anything else is a string; an \#
    array's elements give a list. ${{ raw(needs.OP.outputs.KEY) }}, or one inside a longer text, \#
    is a string. ${{ item }}, ${{ index }} and ${{ matrix.KEY }} are numbers, true or false where \#
    they look like it and no quotes are around them. An output that is not there fails the \#
    operation, without retries."
            }
          },
          "description": "An operation type registered in a worker by the Swift library. \#
    'timeout' and 'cancel.grace' are kept for it as for a command."
        },
        "cancel": {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "signal": {"$ref": "#/definitions/signal"},
            "grace": {"$ref": "#/definitions/duration"},
            "group": {
              "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
              "description": "false is not supported yet.",
              "default": true
            }
          }
        },
        "duration": {
          "anyOf": [
            {"type": "string", "pattern": "^([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+$"},
            {"$ref": "#/definitions/parameter"}
          ],
          "description": "Like 90s, 15m, 1h30m, 2d."
        },
        "edge": {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "when": {"$ref": "#/definitions/when"},
            "match": {
              "anyOf": [{"enum": ["all", "same-index"]}, {"$ref": "#/definitions/parameter"}],
              "description": "same-index: element i waits only for element i.",
              "default": "all"
            },
            "files": {"$ref": "#/definitions/inputFiles"},
            "optional": {
              "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
              "description": "Not supported yet.",
              "default": false
            }
          }
        },
        "env": {
          "type": "object",
          "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
          "properties": {
            "inherit": {
              "type": "array",
              "items": {
                "anyOf": [
                  {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                  {"$ref": "#/definitions/parameter"}
                ]
              },
              "description": "Variables of the submitter's environment, taken as they are when \#
        the graph is submitted. What is written down comes before them."
            }
          },
          "additionalProperties": {
            "anyOf": [
              {"type": ["string", "number", "boolean"]},
              {
                "type": "object",
                "required": ["secret"],
                "additionalProperties": false,
                "properties": {"secret": {"$ref": "#/definitions/secret"}}
              }
            ]
          }
        },
        "envFile": {
          "description": "A file of NAME=VALUE lines, or several, read when the graph is \#
    submitted. All of them are secret. 'env' comes after them.",
          "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
        },
        "secret": {
          "type": "object",
          "description": "A value that is read when the graph is submitted and that nobody is \#
    shown: a variable of the submitter, or a file without its last line end.",
          "oneOf": [{"required": ["env"]}, {"required": ["file"]}],
          "additionalProperties": false,
          "properties": {"env": {"type": "string"}, "file": {"type": "string"}}
        },
        "exitCodes": {
          "type": "array",
          "items": {
            "anyOf": [
              {"type": "integer", "minimum": 0, "maximum": 255},
              {"$ref": "#/definitions/parameter"}
            ]
          }
        },
        "growing": {
          "description": "What a worker must have free; using more ends it as oom, where the \#
    worker has cgroups. One that grows with each retry is not supported yet: its 'first' is taken.",
          "anyOf": [
            {"$ref": "#/definitions/bytes"},
            {
              "type": "object",
              "required": ["first"],
              "additionalProperties": false,
              "properties": {
                "first": {"$ref": "#/definitions/bytes"},
                "factor": {
                  "anyOf": [
                    {"type": "number", "minimum": 1},
                    {"$ref": "#/definitions/parameter"}
                  ]
                },
                "max": {"$ref": "#/definitions/bytes"}
              }
            }
          ]
        },
        "input": {
          "description": "The text itself, or the file it is in.",
          "anyOf": [
            {"type": ["string", "number", "boolean"]},
            {
              "type": "object",
              "required": ["file"],
              "additionalProperties": false,
              "properties": {"file": {"type": "string"}}
            }
          ]
        },
        "labels": {
          "type": "object",
          "propertyNames": {"pattern": "^[A-Za-z][A-Za-z0-9_./-]{0,62}$"},
          "additionalProperties": {"type": ["string", "number", "boolean"]}
        },
        "listedEdge": {
          "type": "object",
          "required": ["op"],
          "additionalProperties": false,
          "properties": {
            "op": {"$ref": "#/definitions/name"},
            "when": {"$ref": "#/definitions/when"},
            "match": {
              "anyOf": [{"enum": ["all", "same-index"]}, {"$ref": "#/definitions/parameter"}],
              "description": "same-index: element i waits only for element i.",
              "default": "all"
            },
            "files": {"$ref": "#/definitions/inputFiles"},
            "optional": {
              "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
              "description": "Not supported yet."
            }
          }
        },
        "logs": {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "keep": {
              "anyOf": [
                {"enum": ["always", "on-failure", "never"]},
                {"$ref": "#/definitions/parameter"}
              ],
              "description": "Only 'always' is supported yet."
            },
            "max": {
              "$ref": "#/definitions/bytes",
              "description": "Kept of each stream; more is cut with a mark."
            }
          }
        },
        "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_.-]{0,127}$"},
        "nameList": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/name"}},
        "needs": {
          "anyOf": [
            {"$ref": "#/definitions/name"},
            {
              "type": "array",
              "items": {
                "anyOf": [{"$ref": "#/definitions/name"}, {"$ref": "#/definitions/listedEdge"}]
              }
            },
            {
              "type": "object",
              "propertyNames": {"$ref": "#/definitions/name"},
              "additionalProperties": {
                "anyOf": [{"$ref": "#/definitions/when"}, {"$ref": "#/definitions/edge"}]
              }
            }
          ]
        },
        "opSettings": {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "queue": {"$ref": "#/definitions/name"},
            "priority": {"$ref": "#/definitions/priority"},
            "qos": {"$ref": "#/definitions/qos"},
            "resources": {"$ref": "#/definitions/resources"},
            "require": {"$ref": "#/definitions/require"},
            "retry": {"$ref": "#/definitions/retry"},
            "max_lost": {"$ref": "#/definitions/maxLost"},
            "not_before": {
              "anyOf": [
                {"$ref": "#/definitions/duration"},
                {
                  "type": "string",
                  "pattern": \#
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]+)?)?\#
    ([Zz]|[+-][0-9]{2}:[0-9]{2})$"
                }
              ],
              "description": "Held until so long after the submission, or until this time, like \#
    2026-11-21T18:00:00+01:00; 'opbatch release' lets it go earlier. At most ten years."
            },
            "timeout": {"$ref": "#/definitions/duration"},
            "warn_before_timeout": {"$ref": "#/definitions/warning"},
            "needs_time": {
              "$ref": "#/definitions/duration",
              "description": "Only start on a worker with at least this much time left. Not \#
    supported yet: it starts anyway."
            },
            "cancel": {"$ref": "#/definitions/cancel"},
            "suspend_signal": {"$ref": "#/definitions/signal", "description": "Not supported yet."},
            "env": {"$ref": "#/definitions/env"},
            "env_file": {"$ref": "#/definitions/envFile"},
            "export_env": {
              "type": "array",
              "items": {"type": "string"},
              "description": "Variables (globs) copied from the submitter. Default: none. Not \#
    supported yet."
            },
            "workdir": {"type": "string"},
            "shell": {"$ref": "#/definitions/shell"},
            "stdout": {"type": "string"},
            "stderr": {"type": "string"},
            "stdin": {"$ref": "#/definitions/input"},
            "logs": {"$ref": "#/definitions/logs"},
            "ok_exit_codes": {"$ref": "#/definitions/exitCodes"},
            "labels": {"$ref": "#/definitions/labels"},
            "on_worker_lost": {
              "anyOf": [{"enum": ["restart", "fail"]}, {"$ref": "#/definitions/parameter"}],
              "description": "fail: what runs when its worker is lost is not run again.",
              "default": "restart"
            },
            "exclusive": {
              "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
              "description": "Never two process trees of it at once, also when its worker is lost."
            },
            "reuse": {"$ref": "#/definitions/reuse"},
            "reproducible": {"$ref": "#/definitions/reproducible"},
            "replicas": {"$ref": "#/definitions/replicas"}
          }
        },
        "operation": {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "description": {"type": "string"},
            "run": {
              "anyOf": [
                {"type": "string", "minLength": 1},
                {
                  "type": "array", "minItems": 1,
                  "items": {"type": ["string", "number", "boolean"]}
                }
              ],
              "description": "A list is executed directly; a string goes to the shell. Values \#
    put in with ${{ }} are shell-quoted."
            },
            "call": {"$ref": "#/definitions/call"},
            "python": {"$ref": "#/definitions/python"},
            "blocks": {
              "type": "array",
              "minItems": 1,
              "maxItems": 10000,
              "items": {"$ref": "#/definitions/block"},
              "description": "A BlockOperation: these run on one worker as one operation, as many \#
    at once as it has cpus. It has ended when all have, and failed if one did. 'env', 'workdir', \#
    'shell', 'stdin', 'ok_exit_codes' and 'logs' are about each block, 'timeout' and 'cancel' \#
    about the whole."
            },
            "group": {
              "type": "object",
              "required": ["operations"],
              "additionalProperties": false,
              "properties": {
                "operations": {"$ref": "#/definitions/operations"},
                "max_concurrent": {
                  "anyOf": [
                    {"type": "integer", "minimum": 1},
                    {"$ref": "#/definitions/parameter"}
                  ],
                  "description": "Operations of the group at once: it gets a queue of its own, \#
    named like the group. Operations that name another queue are not counted."
                },
                "on_failure": {
                  "anyOf": [
                    {"enum": ["continue", "stop", "cancel"]},
                    {"$ref": "#/definitions/parameter"}
                  ],
                  "description": "What more failures than 'max_failures' (else the first) mean \#
    for the rest of the group. stop: start nothing new of it. cancel: also cancel what runs of it.",
                  "default": "continue"
                },
                "max_failures": {"$ref": "#/definitions/failure_bound"},
                "same_worker": {
                  "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
                  "description": "true is not supported yet; 'blocks' run on one worker.",
                  "default": false
                }
              },
              "description": "A GroupOperation: operations under one name. Those of group g are \#
    g.NAME outside of it ('opbatch cancel 12/g.*'); among themselves they use their names alone. \#
    What the group says (needs, env, timeout, labels, ...) is said of each of them. Who needs g \#
    waits for all of them; one that fails, unless it may, fails the group."
            },
            "barrier": {"const": true, "description": "Does nothing; a joint for dependencies."},
            "needs": {"$ref": "#/definitions/needs"},
            "needs_any": {"$ref": "#/definitions/needs", "description": "Not supported yet."},
            "array": {
              "anyOf": [
                {
                  "type": ["string", "integer"],
                  "pattern": "^[0-9_]+(-[0-9_]+(:[0-9]+)?)?(,[0-9_]+(-[0-9_]+(:[0-9]+)?)?)*$"
                },
                {
                  "type": "object",
                  "additionalProperties": false,
                  "minProperties": 1,
                  "properties": {
                    "range": {"type": ["string", "integer"]},
                    "items": {
                      "type": "array",
                      "items": {"type": ["string", "number", "boolean"]}
                    },
                    "lines": {
                      "type": "string",
                      "description": "A file; each line that is not empty is an item."
                    },
                    "glob": {
                      "type": "string",
                      "description": "Files by pattern, relative to the manifest's folder."
                    },
                    "json": {"type": "string", "description": "A file with a list."},
                    "csv": {"type": "string", "description": "Not supported yet."},
                    "max_parallel": {
                      "anyOf": [
                        {"type": "integer", "minimum": 1},
                        {"$ref": "#/definitions/parameter"}
                      ]
                    },
                    "max_failures": {
                      "$ref": "#/definitions/failure_bound",
                      "description": "One failure more stops the other elements."
                    }
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
                "max_parallel": {
                  "anyOf": [
                    {"type": "integer", "minimum": 1},
                    {"$ref": "#/definitions/parameter"}
                  ]
                },
                "max_failures": {
                  "$ref": "#/definitions/failure_bound",
                  "description": "One failure more stops the other elements."
                }
              },
              "additionalProperties": {
                "type": "array",
                "minItems": 1,
                "items": {"type": ["string", "number", "boolean"]}
              }
            },
            "if": {
              "type": "string",
              "description": "Decided at submit time from params, matrix and item only. Not \#
    supported yet."
            },
            "files": {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "in": {"type": "array", "items": {"type": "string"}},
                "out": {"type": "array", "items": {"type": "string"}},
                "stage": {
                  "anyOf": [{"enum": ["shared", "copy"]}, {"$ref": "#/definitions/parameter"}],
                  "default": "shared"
                },
                "skip_if_current": {
                  "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
                  "description": "make's rule: skip when every 'out' exists and is newer than \#
    every 'in'.",
                  "default": false
                }
              },
              "description": "Not supported yet: nothing is looked at, the operation always runs."
            },
            "inputs": {"$ref": "#/definitions/ownFiles"},
            "outputs": {
              "anyOf": [
                {"$ref": "#/definitions/outputValues"},
                {
                  "type": "object",
                  "additionalProperties": false,
                  "properties": {
                    "values": {"$ref": "#/definitions/outputValues"},
                    "files": {
                      "type": "object",
                      "propertyNames": {"$ref": "#/definitions/name"},
                      "additionalProperties": {"type": "string"},
                      "maxProperties": 100,
                      "description": "Files that the operation leaves for others: a name, and a \#
    path, a folder or a pattern such as out/*.bam. They stay at the worker and travel to whoever \#
    needs them."
                    }
                  }
                }
              ]
            },
            "allow_failure": {
              "anyOf": [
                {"type": "boolean"}, {"$ref": "#/definitions/exitCodes"},
                {"$ref": "#/definitions/parameter"}
              ]
            },
            "queue": {"$ref": "#/definitions/opSettings/properties/queue"},
            "priority": {"$ref": "#/definitions/opSettings/properties/priority"},
            "qos": {"$ref": "#/definitions/opSettings/properties/qos"},
            "resources": {"$ref": "#/definitions/opSettings/properties/resources"},
            "require": {"$ref": "#/definitions/opSettings/properties/require"},
            "retry": {"$ref": "#/definitions/opSettings/properties/retry"},
            "max_lost": {"$ref": "#/definitions/maxLost"},
            "not_before": {"$ref": "#/definitions/opSettings/properties/not_before"},
            "timeout": {"$ref": "#/definitions/opSettings/properties/timeout"},
            "warn_before_timeout": {
              "$ref": "#/definitions/opSettings/properties/warn_before_timeout"
            },
            "needs_time": {"$ref": "#/definitions/opSettings/properties/needs_time"},
            "cancel": {"$ref": "#/definitions/opSettings/properties/cancel"},
            "suspend_signal": {"$ref": "#/definitions/opSettings/properties/suspend_signal"},
            "env": {"$ref": "#/definitions/opSettings/properties/env"},
            "env_file": {"$ref": "#/definitions/opSettings/properties/env_file"},
            "export_env": {"$ref": "#/definitions/opSettings/properties/export_env"},
            "workdir": {"$ref": "#/definitions/opSettings/properties/workdir"},
            "shell": {"$ref": "#/definitions/opSettings/properties/shell"},
            "stdout": {"$ref": "#/definitions/opSettings/properties/stdout"},
            "stderr": {"$ref": "#/definitions/opSettings/properties/stderr"},
            "stdin": {"$ref": "#/definitions/opSettings/properties/stdin"},
            "logs": {"$ref": "#/definitions/opSettings/properties/logs"},
            "ok_exit_codes": {"$ref": "#/definitions/opSettings/properties/ok_exit_codes"},
            "labels": {"$ref": "#/definitions/opSettings/properties/labels"},
            "on_worker_lost": {"$ref": "#/definitions/opSettings/properties/on_worker_lost"},
            "exclusive": {"$ref": "#/definitions/opSettings/properties/exclusive"},
            "reuse": {"$ref": "#/definitions/reuse"},
            "reproducible": {"$ref": "#/definitions/reproducible"},
            "replicas": {"$ref": "#/definitions/replicas"}
          },
          "oneOf": [
            {"required": ["run"]},
            {"required": ["call"]},
            {"required": ["python"]},
            {"required": ["blocks"]},
            {"required": ["group"]},
            {"required": ["barrier"]}
          ]
        },
        "operations": {
          "type": "object",
          "minProperties": 1,
          "propertyNames": {"$ref": "#/definitions/name"},
          "additionalProperties": {"$ref": "#/definitions/operation"}
        },
        "failure_bound": {
          "anyOf": [
            {"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,3}%$"},
            {"$ref": "#/definitions/parameter"}
          ]
        },
        "parameter": {
          "type": "string",
          "pattern": "^\\$\\{\\{",
          "description": "A value put in for ${{ params.NAME }}; its result is checked on \#
    submission."
        },
        "priority": {
          "anyOf": [
            {"enum": ["very-low", "low", "normal", "high", "very-high"]},
            {"type": "integer", "minimum": -1000, "maximum": 1000},
            {"$ref": "#/definitions/parameter"}
          ]
        },
        "qos": {
          "anyOf": [
            {"enum": ["user-interactive", "user-initiated", "default", "utility", "background"]},
            {"$ref": "#/definitions/parameter"}
          ]
        },
        "require": {
          "type": "object",
          "description": "Labels that a worker must have; of a list, one.",
          "additionalProperties": {
            "anyOf": [
              {"type": ["string", "number", "boolean"]},
              {
                "type": "array",
                "minItems": 1,
                "items": {"type": ["string", "number", "boolean"]}
              }
            ]
          }
        },
        "resources": {
          "type": "object",
          "properties": {
            "cpus": {
              "anyOf": [
                {"type": "number", "minimum": 0},
                {"const": "all"},
                {"$ref": "#/definitions/parameter"}
              ],
              "default": 1,
              "description": "0 asks for none; 'all' is not supported yet."
            },
            "memory": {"$ref": "#/definitions/growing"},
            "gpus": {
              "anyOf": [{"type": "number", "minimum": 0}, {"$ref": "#/definitions/parameter"}]
            },
            "disk": {"$ref": "#/definitions/bytes", "description": "Not supported yet."},
            "exclusive": {"$ref": "#/definitions/opSettings/properties/exclusive"}
          },
          "additionalProperties": {
            "anyOf": [{"type": "number", "minimum": 0}, {"$ref": "#/definitions/parameter"}]
          }
        },
    """# + "\n" + furtherDefinitions
}
