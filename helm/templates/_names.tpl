{{/* Names and labels. */}}

{{- define "lookaside.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{/* 53 characters leave room for the suffixes of the objects within the limit of 63. */}}
{{- define "lookaside.fullname" -}}
{{- $name := include "lookaside.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What finds this release's objects again; it never changes during an upgrade. */}}
{{- define "lookaside.releaseLabels" -}}
app.kubernetes.io/name: {{ include "lookaside.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The pods of the job, and no others: the pod of `helm test` is not among them. */}}
{{- define "lookaside.selectorLabels" -}}
{{ include "lookaside.releaseLabels" . }}
app.kubernetes.io/component: replica
{{- end -}}

{{- define "lookaside.labels" -}}
{{ include "lookaside.releaseLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "lookaside.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "lookaside.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "lookaside.image" -}}
{{- $image := .Values.image -}}
{{- $place := $image.repository -}}
{{- with $image.registry -}}{{- $place = printf "%s/%s" . $image.repository -}}{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $place $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $place (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}
