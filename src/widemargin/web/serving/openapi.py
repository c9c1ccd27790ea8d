"""The OpenAPI document, which describes requests and answers."""

from __future__ import annotations

from typing import Any

from widemargin import __version__
from widemargin.web.serving.limits import Limits

_ERRORS = {
    "400": "The request is not HTTP, or a header occurs twice.",
    "401": "A token is required, or the token is not valid.",
    "403": "The Host or Origin is not this server's.",
    "404": "There is no such model.",
    "408": "The request was not complete in time.",
    "413": "The body is too large, or has too many examples.",
    "415": "The Content-Type is not one that the model reads.",
    "422": "The body cannot be read: line and column say where.",
    "429": "There are too many concurrent requests. Try again.",
    "503": "The server is overloaded or shutting down. Try again.",
}


def _option(name: str, kind: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": text, "schema": {"type": kind}}


#: The options of predictions and of explanations.
_BESIDE = [
    _option("scores", "boolean", "Whether to return the scores, or margins, too."),
    _option("proba", "boolean", "Whether to return the probabilities, too."),
]
_EXPLAINED = [
    _option("top", "integer", "Number of features to return."),
    _option("token", "integer", "Taggers and parsers: the word, counted from 1."),
]


def describe_api(models: list[dict[str, Any]], limits: Limits) -> dict[str, Any]:
    """The document for these models.

    Parameters
    ----------
    models : list of dict
        The result of `Served.describe` for each.
    limits : Limits
        The limits of requests.
    """
    ask = (
        f"At most {limits.body:,} bytes and {limits.rows:,} examples; answered within"
        f" {limits.seconds:g} seconds."
    )
    paths: dict[str, Any] = {
        "/models": _get("The models, their classes and what they read."),
        "/healthz": _get("Whether the process is alive."),
        "/readyz": _get("Whether it accepts requests."),
        "/metrics": _get("Counters in Prometheus' text format.", "text/plain"),
    }
    for model in models:
        name = model["name"]
        predicts = f"Predict with {name}. {ask}"
        paths[f"/predict/{name}"] = _post(model, predicts, _BESIDE, "Prediction")
        if model["explains"]:
            explains = f"What decided the prediction of {name} for one example. {ask}"
            paths[f"/explain/{name}"] = _post(model, explains, _EXPLAINED, "Explanation")
    return {
        "openapi": "3.1.0",
        "info": {"title": "widemargin", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {
                "Prediction": _named("prediction", "predictions"),
                "Explanation": _named("prediction", "instead_of", "score", "reasons"),
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {
                        "error": {"type": "string"},
                        "id": {"type": "string"},
                        "line": {"type": "integer"},
                        "column": {"type": "integer"},
                    },
                },
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _named(*more: str) -> dict[str, Any]:
    """The schema of an answer, which includes the model and its digest."""
    texts = {name: {"type": "string"} for name in ("model", "digest")}
    return {
        "type": "object",
        "required": list(texts),
        "properties": {**texts, **{name: {} for name in more}},
    }


def _get(summary: str, content_type: str = "application/json") -> dict[str, Any]:
    content: dict[str, Any] = {content_type: {}}
    return {"get": {"summary": summary, "responses": {"200": _response("OK", content)}}}


def _response(text: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": content}


def _post(
    model: dict[str, Any], summary: str, options: list[dict[str, Any]], schema: str
) -> dict[str, Any]:
    def content(name: str) -> dict[str, Any]:
        return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}

    bodies: dict[str, Any] = {name: {} for name in model["content_types"]}
    bodies["application/json"] = {"example": model["sample"]}
    errors = {status: _response(text, content("Error")) for status, text in _ERRORS.items()}
    return {
        "post": {
            "summary": summary,
            "parameters": options,
            "requestBody": {"required": True, "content": bodies},
            "responses": {"200": _response("The answer.", content(schema)), **errors},
        }
    }
