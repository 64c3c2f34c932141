# toolfold from Terraform: the packaged template of a release as one stack. `make release` copies this file beside the
# template and its zips, into dist/aws/. docs/how-to/deploy.md

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

variable "code_bucket" {
  description = "A bucket of yours in the region of the deployment, for the packages of the function."
  type        = string
}

variable "name" {
  description = "Name of the stack; its resources begin with it."
  type        = string
  default     = "toolfold"
}

variable "parameters" {
  description = "Parameters of template.yaml by name, e.g. { Access = \"oauth\", OAuthIssuer = \"https://…\" }."
  type        = map(string)
  default     = {}
}

locals {
  prefix = "${var.name}/"
}

resource "aws_s3_object" "package" {
  for_each = fileset(path.module, "*.zip")

  bucket      = var.code_bucket
  key         = "${local.prefix}${each.key}" # the name has the hash of the content
  source      = "${path.module}/${each.key}"
  source_hash = filesha256("${path.module}/${each.key}")
}

resource "aws_cloudformation_stack" "toolfold" {
  name          = var.name
  template_body = file("${path.module}/template.yaml")
  parameters    = merge(var.parameters, { CodeBucket = var.code_bucket, CodePrefix = local.prefix })
  capabilities  = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]

  depends_on = [aws_s3_object.package]
}

output "endpoint" {
  description = "URL of the MCP server."
  value       = aws_cloudformation_stack.toolfold.outputs["Endpoint"]
}

output "outputs" {
  description = "All outputs of the stack: the catalog's bucket, the table, the function and more."
  value       = aws_cloudformation_stack.toolfold.outputs
}
