// Last part of the manifest's schema, and the end of its text. See ManifestSchemaDefinitions.swift.

extension ManifestSchema {
  static let furtherDefinitions = #"""
        "python": {
          "type": "object",
          "required": ["function"],
          "additionalProperties": false,
          "properties": {
            "function": {
              "type": "string",
              "minLength": 3,
              "description": "MODULE:NAME, as the interpreter there can import it; what it \#
    returns, if JSON can say it, is the operation's output."
            },
            "arguments": {
              "type": "array",
              "description": "Given to it in this order, as JSON, with values put in as in \#
    'call.input'."
            },
            "keywords": {
              "type": "object",
              "description": "Given to it by name, likewise."
            },
            "interpreter": {
              "type": "string",
              "minLength": 1,
              "description": "The absolute path or the name of the Python that runs it, on the \#
    worker's machine. It has the package opcluster.",
              "default": "python3"
            },
            "venv": {
              "type": "string",
              "minLength": 1,
              "description": "The absolute path of a virtual environment there, instead of an \#
    interpreter."
            }
          },
          "not": {"required": ["interpreter", "venv"]},
          "description": "A function of Python. Workers keep its interpreter running for the next \#
    one. 'timeout' and 'cancel.grace' are kept for it as for a command."
        },
        "outputValues": {
          "type": "array",
          "items": {"$ref": "#/definitions/name"},
          "description": "Small values the operation writes to $OP_OUTPUT as key=value."
        },
        "reuse": {
          "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
          "description": "What was done before in the same way, with the same inputs, is not done \#
    again: it ends at once with what was left then."
        },
        "reproducible": {
          "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
          "description": "false: it does not run once more when what it left is lost with a \#
    worker; what would read that fails.",
          "default": true
        },
        "maxLost": {
          "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": 1000},
            {"$ref": "#/definitions/parameter"}
          ],
          "description": "Losses of its worker before it ends as lost.",
          "default": 5
        },
        "replicas": {
          "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": 8},
            {"$ref": "#/definitions/parameter"}
          ],
          "description": "In how many workers' stores its files are to lie, in case that one is \#
    lost.",
          "default": 1
        },
        "ownFiles": {
          "type": "object",
          "propertyNames": {"$ref": "#/definitions/name"},
          "additionalProperties": {"type": "string", "minLength": 1},
          "maxProperties": 1000,
          "description": "Files of the submitter: a name, and a path, a folder or a pattern. They \#
    are sent along, and found as $OP_INPUTS/NAME."
        },
        "inputFiles": {
          "type": "array",
          "items": {"$ref": "#/definitions/name"},
          "description": "Output files of it that are read, from $OP_INPUTS/OPERATION/NAME."
        },
        "retry": {
          "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": 100},
            {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "max": {
                  "anyOf": [
                    {"type": "integer", "minimum": 0, "maximum": 100},
                    {"$ref": "#/definitions/parameter"}
                  ]
                },
                "reasons": {
                  "type": "array",
                  "items": {
                    "anyOf": [
                      {
                        "type": "string",
                        "pattern": \#
    "^(any|failed|timeout|oom|lost|signal|signal:[A-Z0-9]+|exit:[0-9]{1,3}(-[0-9]{1,3})?)$"
                      },
                      {"$ref": "#/definitions/parameter"}
                    ]
                  }
                },
                "backoff": {"$ref": "#/definitions/duration"},
                "backoff_factor": {
                  "anyOf": [
                    {"type": "number", "minimum": 1, "maximum": 100},
                    {"$ref": "#/definitions/parameter"}
                  ],
                  "default": 2
                },
                "backoff_max": {"$ref": "#/definitions/duration"},
                "avoid_worker": {
                  "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
                  "default": false,
                  "description": "Whether a further attempt goes to a worker at which none has \#
    failed, where there is one."
                }
              }
            },
            {"$ref": "#/definitions/parameter"}
          ]
        },
        "shell": {
          "anyOf": [
            {"enum": ["sh", "bash", "none"]},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            {
              "type": "object",
              "required": ["name"],
              "additionalProperties": false,
              "properties": {
                "name": {"enum": ["sh", "bash"]},
                "strict": {"anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}]}
              }
            },
            {"$ref": "#/definitions/parameter"}
          ],
          "description": "What reads the text: it ends at the first command that fails, with bash \#
    also where a part of a pipe fails or a variable is not set, unless strict is false."
        },
        "signal": {
          "anyOf": [
            {"type": "string", "pattern": "^(SIG)?[A-Z0-9+]+$"},
            {"$ref": "#/definitions/parameter"}
          ]
        },
        "warning": {
          "type": "object",
          "required": ["signal", "before"],
          "additionalProperties": false,
          "description": "Not supported yet: no signal is sent.",
          "properties": {
            "signal": {"$ref": "#/definitions/signal"},
            "before": {"$ref": "#/definitions/duration"}
          }
        },
        "when": {
          "anyOf": [
            {"enum": ["succeeded", "finished", "failed", "started"]},
            {"$ref": "#/definitions/parameter"}
          ],
          "description": "succeeded: it ended well. finished: it ended at all, Apple's Operation \#
    meaning. failed: it failed, timed out or was lost. started: not supported yet.",
          "default": "succeeded"
        }
      }
    }

    """#
}
